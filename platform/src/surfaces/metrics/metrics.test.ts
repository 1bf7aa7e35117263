/** The metrics of a server: who may read them, what they say, and that callers cannot make them many. */
import { expect, test } from "vitest";
import { idle } from "../../../tests/idle.ts";
import { InterceptedStore, setup, type World } from "../../../tests/world.ts";
import { sleep } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { newJob } from "../../ports/queue/conformance-jobs.ts";
import { metricTable } from "./table.ts";

const scrape = async (world: World, key?: string | null) =>
  world.call("GET", "/metrics", key === undefined ? {} : { key });

/** The samples of a scrape by name and labels. */
function samplesIn(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

const seriesOf = (text: string, name: string) => [...samplesIn(text).keys()].filter((one) => one.startsWith(name));

test("the owner reads them, and so does a key of the first account that may do nothing else", async () => {
  await using world = await setup();
  const { status, headers, text } = await scrape(world);
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
  expect(text).toContain("# TYPE millrace_http_requests_total counter\n");
  const only = await world.newKey({ scopes: ["installation:metrics"] });
  expect((await scrape(world, only)).status).toBe(200);
  expect((await world.call("GET", "/v2/pods", { key: only })).status).toBe(403);
});

test("nobody else does: no key, a read-only key, a key of another account, a key for some endpoints", async () => {
  await using world = await setup();
  expect((await scrape(world, null)).status).toBe(401);
  for (const scopes of [["read-only"], ["account:read"], ["account:write"]] as const)
    expect((await scrape(world, await world.newKey({ scopes: [...scopes] }))).status).toBe(403);
  const stranger = await scrape(world, await world.strangersKey());
  expect([stranger.status, stranger.headers.get("x-reason-code")]).toEqual([403, "owner-only"]);
  const narrowed = await world.newKey({ scopes: ["all"], endpoints: ["abcdefghijklmn"] });
  expect((await scrape(world, narrowed)).status).toBe(403);
  expect((await world.call("POST", "/metrics")).status).toBe(405);
});

test("the start of the process stays the same from scrape to scrape, so that its changes are restarts", async () => {
  await using world = await setup();
  const started = async () => samplesIn((await scrape(world)).text).get("process_start_time_seconds");
  const first = await started();
  await world.clock.advance(1500);
  expect([await started(), first! > 0]).toEqual([first, true]);
});

test("requests are counted by route and status, and made-up paths, methods and hosts make no series", async () => {
  await using world = await setup();
  for (let n = 0; n < 50; n++) {
    await world.call("GET", `/v2/pods/made-up-${n}`);
    await world.call("GET", `/made/up/${n}`, { headers: { "x-made-up": `${n}`, "user-agent": `${n}` } });
    await world.call("GET", `/v2/endpoint${n}/status/job-${n}`);
  }
  await world.call("PROPFIND", "/v2/pods");
  await world.call("BREW", "/v2/pods").catch(() => undefined);
  const { text } = await scrape(world);
  const samples = samplesIn(text);
  expect(samples.get('millrace_http_requests_total{method="GET",route="/v2/pods/{id}",status="404"}')).toBe(50);
  expect(samples.get('millrace_http_requests_total{method="GET",route="unknown",status="404"}')).toBe(50);
  expect(
    samples.get('millrace_http_requests_total{method="GET",route="/v2/{endpoint_id}/status/{job_id}",status="404"}'),
  ).toBe(50);
  expect(samples.get('millrace_http_request_duration_seconds_count{method="GET",route="/v2/pods/{id}"}')).toBe(50);
  expect(text).not.toContain("made-up");
  const before = samples.size;
  for (let n = 0; n < 50; n++) await world.call("GET", `/v2/pods/other-${n}/x/${n}`);
  await world.clock.advance(1000);
  expect(samplesIn((await scrape(world)).text).size).toBeLessThan(before + 40);
});

test("jobs are counted as they come and end, with why they wait; endpoints have no series by default", async () => {
  await using world = await setup();
  const id = await endpoint(world);
  for (let n = 0; n < 3; n++) await world.call("POST", `/v2/${id}/run`, { body: { input: {} } });
  const { json } = await world.call("POST", `/v2/${id}/run`, { body: { input: {} } });
  await world.call("POST", `/v2/${id}/cancel/${json.id}`);
  await world.clock.advance(7000);
  const { text } = await scrape(world);
  const samples = samplesIn(text);
  expect(samples.get("millrace_jobs_submitted_total")).toBe(4);
  expect(samples.get('millrace_jobs_ended_total{state="CANCELLED"}')).toBe(1);
  expect(samples.get('millrace_jobs{state="IN_QUEUE"}')).toBe(3);
  expect(samples.get("millrace_queue_oldest_job_seconds")).toBeGreaterThanOrEqual(7);
  expect([...samples].filter(([name]) => name.startsWith("millrace_jobs_waiting")).map(([, value]) => value)).toEqual([
    3,
  ]);
  expect(text).not.toContain(id);
});

test("the endpoints with the longest queues have series if the operator asks for some", async () => {
  await using world = await setup({ metricsEndpoints: 2 });
  const ids = [await endpoint(world), await endpoint(world), await endpoint(world)];
  for (const [jobs, id] of ids.entries())
    for (let n = 0; n <= jobs; n++) await world.call("POST", `/v2/${id}/run`, { body: { input: {} } });
  const { text } = await scrape(world);
  expect(seriesOf(text, "millrace_endpoint_oldest_job_seconds")).toEqual(
    [ids[2], ids[1]].map((id) => `millrace_endpoint_oldest_job_seconds{endpoint="${id}"}`),
  );
});

test("ten thousand busy endpoints and paths that would be labels make no more series", async () => {
  await using world = await setup({ metricsEndpoints: 20 });
  const createdAt = world.clock.now();
  const jobs = Array.from({ length: 10_000 }, (_, n) => newJob(`job-${n}`, { endpoint: `endpoint${n}`, createdAt }));
  for (let from = 0; from < jobs.length; from += 1000) await world.queue.enqueue(jobs.slice(from, from + 1000));
  const paths = ["/v2/%7b%22%7d", "/v2/pods/a%22b%0a", "/..%2f..%2fetc", "/v2/x/run%00", `/${"a".repeat(3000)}`];
  for (const path of [...paths, "/metrics/%22%7d%20evil_total%201"]) await world.call("GET", path);
  const { text } = await scrape(world);
  const samples = samplesIn(text);
  expect(samples.get('millrace_jobs{state="IN_QUEUE"}')).toBe(10_000);
  expect(samples.get('millrace_jobs_waiting{reason="not-looked-at"}')).toBe(9900);
  expect(samples.size).toBeLessThan(500);
  expect(text).not.toContain("evil");
});

test("a slow database is not taken for one that is away: reasons of a hundred queues are found side by side", async () => {
  await using world = await setup();
  const createdAt = world.clock.now();
  await world.queue.enqueue(
    Array.from({ length: 100 }, (_, n) => newJob(`job-${n}`, { endpoint: `e${n}`, createdAt })),
  );
  const { counts } = world.queue;
  world.queue.counts = async (id) => {
    await sleep(world.clock, 100);
    return counts.call(world.queue, id);
  };
  const scraping = scrape(world);
  for (let ms = 0; ms < 6000; ms += 100) {
    await idle();
    await world.clock.advance(100);
  }
  const samples = samplesIn((await scraping).text);
  expect(samples.get("millrace_installation_read")).toBe(1);
  expect([...samples].filter(([name]) => name.startsWith("millrace_jobs_waiting")).map(([, value]) => value)).toEqual([
    100,
  ]);
});

test("a database that is away costs the figures of the installation alone, and many scrapes are one reading", async () => {
  const store = new InterceptedStore();
  await using world = await setup({ store });
  await scrape(world);
  await world.clock.advance(1000);
  let reads = 0;
  store.count = () => {
    reads++;
    return new Promise(() => {});
  };
  const scrapes = Array.from({ length: 20 }, () => world.app.metrics.text());
  await idle();
  await world.clock.advance(5000);
  const texts = new Set(await Promise.all(scrapes));
  expect([texts.size, reads]).toEqual([1, 5]);
  const samples = samplesIn([...texts][0]!);
  expect(samples.get("millrace_installation_read")).toBe(0);
  expect(samples.get("millrace_connections_limit")).toBe(10_000);
  expect(seriesOf([...texts][0]!, "millrace_jobs{")).toEqual([]);
});

test("a key that read them lately reads those of the node while the database is away, and no other key does", async () => {
  const store = new InterceptedStore();
  await using world = await setup({ store });
  const scraper = await world.newKey({ scopes: ["installation:metrics"] });
  const unused = await world.newKey({ scopes: ["installation:metrics"] });
  const reader = await world.newKey({ scopes: ["read-only"] });
  const ending = await world.newKey({ scopes: ["installation:metrics"], expiresAt: world.clock.now() + 60_000 });
  const status = async (key: string) => (await scrape(world, key)).status;
  expect([await status(scraper), await status(reader), await status(ending)]).toEqual([200, 403, 200]);
  await world.clock.advance(30_000);
  store.beforeRead = () => {
    throw problem("unavailable", "The database cannot be reached at the moment.");
  };
  const { status: answered, text } = await scrape(world, scraper);
  expect([answered, samplesIn(text).get("millrace_installation_read")]).toEqual([200, 0]);
  expect([await status(ending), await status(unused), await status(reader)]).toEqual([200, 503, 503]);
  expect((await world.call("GET", "/v2/pods", { key: scraper })).status).toBe(503);
  await world.clock.advance(30_000);
  expect([await status(ending), await status(scraper)]).toEqual([503, 200]);
  await world.clock.advance(601_000);
  expect(await status(scraper)).toBe(503);
});

test("a database that is silent holds up a scrape no longer than Prometheus waits", async () => {
  const store = new InterceptedStore();
  await using world = await setup({ store });
  await scrape(world);
  await world.clock.advance(30_000);
  store.find = () => new Promise(() => {});
  store.count = () => new Promise(() => {});
  const scraping = scrape(world);
  for (let s = 0; s < 7; s++) {
    await idle();
    await world.clock.advance(1000);
  }
  expect((await scraping).status).toBe(200);
});

test("a key that was revoked reads no metrics, also if the database is away after its next try", async () => {
  const store = new InterceptedStore();
  await using world = await setup({ store });
  const { json } = await world.call("POST", "/v2/account/api-keys", {
    body: { name: "p", scopes: ["installation:metrics"] },
  });
  expect((await scrape(world, json.key)).status).toBe(200);
  await world.call("DELETE", `/v2/account/api-keys/${json.id}`);
  expect((await scrape(world, json.key)).status).toBe(401);
  store.beforeRead = () => {
    throw problem("unavailable", "The database cannot be reached at the moment.");
  };
  expect((await scrape(world, json.key)).status).toBe(503);
});

test("the difference of the node's clock from the database's is in seconds, and absent while nobody knows it", async () => {
  let aheadMs: number | undefined = -2500;
  await using world = await setup({ clockAheadMs: () => aheadMs });
  const shown = async () => samplesIn((await scrape(world)).text).get("millrace_clock_ahead_seconds");
  expect(await shown()).toBe(-2.5);
  aheadMs = undefined;
  await world.clock.advance(1500);
  expect(await shown()).toBeUndefined();
});

test("every metric says what it is, in the form that Prometheus asks for", () => {
  for (const [name, { type, about }] of Object.entries(metricTable)) {
    expect(name).toMatch(/^(millrace|process|nodejs)_[a-z0-9_]+$/);
    expect(name.endsWith("_total")).toBe(type === "counter");
    expect(about).toMatch(/\.$/);
  }
});

async function endpoint(world: World): Promise<string> {
  const { json } = await world.call("POST", "/v2/serverless", {
    body: { name: "echo", image: "host:/app", cpu: [{ id: "cpu3c", vcpuCount: 2 }] },
  });
  return json.id;
}
