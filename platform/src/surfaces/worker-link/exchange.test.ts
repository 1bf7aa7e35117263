/** `/job-exchange`: one request delivers many results and takes many jobs, each with its attempt. */
import { describe, expect, test } from "vitest";
import { HOLD_TAKE_MS, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

async function exchange(worker: TestWorker, { lines = [] as string[], take = 0, wait = 0 } = {}) {
  const body = lines.length > 0 ? lines.join("\n") : undefined;
  const answer = await worker.ask("POST job-exchange", { query: `&take=${take}&wait=${wait}`, body });
  const jobs =
    answer.status === 204
      ? []
      : answer.text
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line));
  return { ...answer, jobs };
}

const line = (id: string, attempt: number, result: unknown) => `${id} ${attempt} ${JSON.stringify(result)}`;

test("takes up to that many jobs, one a line, with id, input and attempt", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const ids = [await world.submit({ n: 1 }), await world.submit({ n: 2 }), await world.submit({ n: 3 })];
  const { status, headers, jobs } = await exchange(worker, { take: 2 });
  expect([status, headers.get("content-type")]).toEqual([200, "application/x-ndjson; charset=utf-8"]);
  expect(jobs).toEqual([
    { id: ids[0], input: { n: 1 }, attempt: 1 },
    { id: ids[1], input: { n: 2 }, attempt: 1 },
  ]);
});

test("finishes many and takes many in one request", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  for (let i = 0; i < 4; i++) await world.submit({ i });
  const first = await exchange(worker, { take: 2 });
  const [a, b] = first.jobs;
  const second = await exchange(worker, {
    lines: [line(a.id, 1, { output: "A" }), line(b.id, 1, { error: "B" })],
    take: 2,
  });
  expect(second.jobs.map(({ input }: { input: { i: number } }) => input.i)).toEqual([2, 3]);
  expect(await world.status(a.id)).toMatchObject({ status: "COMPLETED", output: "A" });
  expect(await world.status(b.id)).toMatchObject({ status: "FAILED", error: "B" });
});

test("is held while there is nothing, up to 20 seconds by default, then 204", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const answer = worker.ask("POST job-exchange");
  await world.clock.armed(HOLD_TAKE_MS);
  await world.clock.advance(HOLD_TAKE_MS);
  expect((await answer).status).toBe(204);
  const held = exchange(worker, { take: 5, wait: 7000 });
  await world.clock.armed(7000);
  const id = await world.submit();
  expect((await held).jobs).toMatchObject([{ id }]);
});

test("results are durable before the request waits for more", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await world.begun(worker);
  const answer = exchange(worker, { lines: [line(id, 1, { output: 1 })], take: 1, wait: 7000 });
  await world.clock.armed(7000);
  expect((await world.status(id)).status).toBe("COMPLETED");
  await world.clock.advance(7000);
  expect((await answer).status).toBe(204);
});

test("wait=0 and take=0 are answered at once", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  expect((await exchange(worker, { take: 3, wait: 0 })).status).toBe(204);
  await world.submit();
  expect((await exchange(worker, { take: 0, wait: 7000 })).status).toBe(204);
});

describe("attempts", () => {
  test("a result of an earlier attempt changes nothing, though the same worker sends it", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.submit({}, { policy: { retries: 1 } });
    await exchange(worker, { take: 1 });
    await exchange(worker, { lines: [line(id, 1, { error: "flaky" })] });
    const [again] = (await exchange(worker, { take: 1 })).jobs;
    expect(again).toMatchObject({ id, attempt: 2 });
    await exchange(worker, { lines: [line(id, 1, { output: "old" })] });
    expect((await world.status(id)).status).toBe("IN_PROGRESS");
    await exchange(worker, { lines: [line(id, 2, { output: "new" })] });
    expect(await world.status(id)).toMatchObject({ status: "COMPLETED", output: "new" });
  });

  test("a result sent again after a lost answer changes nothing", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker);
    for (let i = 0; i < 3; i++)
      expect((await exchange(worker, { lines: [line(id, 1, { output: i })] })).status).toBe(204);
    expect(await world.status(id)).toMatchObject({ status: "COMPLETED", output: 0 });
    expect((await world.invoke("GET", "/health")).json.jobs.completed).toBe(1);
  });
});

describe("one bad line among good ones harms no other:", () => {
  test.each([
    ["broken JSON", (id: string) => `${id} 1 {"output":`, "FAILED"],
    ["no object", (id: string) => `${id} 1 7`, "FAILED"],
    ["nothing behind the attempt", (id: string) => `${id} 1`, "FAILED"],
    ["a job that does not exist", () => 'nothing 1 {"output":1}', "IN_PROGRESS"],
    ["an empty line", () => "", "IN_PROGRESS"],
  ])("%s", async (_what, bad, expected) => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const [odd, good] = [await world.begun(worker), await world.begun(worker)];
    const { status } = await exchange(worker, { lines: [bad(odd), line(good, 1, { output: 1 })] });
    expect(status).toBe(204);
    expect([(await world.status(odd)).status, (await world.status(good)).status]).toEqual([expected, "COMPLETED"]);
  });

  test("an output over 20 MB", async () => {
    await using world = await setupJobs({ payloadLimits: "10,20,20,0" });
    const worker = await world.worker();
    const [large, good] = [await world.begun(worker), await world.begun(worker)];
    const lines = [line(large, 1, { output: "x".repeat(20 * 1024 * 1024) }), line(good, 1, { output: 1 })];
    expect((await exchange(worker, { lines })).status).toBe(204);
    expect(await world.status(large)).toMatchObject({ status: "FAILED", error: "the output exceeds 20 MB" });
    expect((await world.status(good)).status).toBe("COMPLETED");
  });
});

test("progress is a line like any other", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const id = await world.begun(worker);
  await exchange(worker, { lines: [line(id, 1, { status: "IN_PROGRESS", output: "half" })] });
  expect(await world.status(id)).toMatchObject({ status: "IN_PROGRESS", output: "half" });
});

describe("many lines", () => {
  test("more than the most are refused as a whole, empty ones counted, with what to do", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const id = await world.begun(worker);
    const ofJob = line(id, 1, { output: 1 });
    for (const other of ["x 1 {}", ""]) {
      const { status, json } = await exchange(worker, { lines: [ofJob, ...Array(10_000).fill(other)] });
      expect([status, json.error]).toEqual([413, "an exchange has at most 10000 lines; send the rest in another one"]);
    }
    expect((await world.status(id)).status).toBe("IN_PROGRESS");
    expect((await exchange(worker, { lines: [...Array(9_999).fill(""), ofJob] })).status).toBe(204);
    expect((await world.status(id)).status).toBe("COMPLETED");
  });

  test("others get their turn while lines of no job of ours are looked at", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    let turns = 0;
    const count = () => {
      turns++;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const lines = Array.from({ length: 5000 }, (_, i) => `x${i} 1 {"output":1}`);
    expect((await exchange(worker, { lines })).status).toBe(204);
    clearImmediate(counting);
    expect(turns).toBeGreaterThan(5000 / 50);
  });

  test("a line that is long, and below the limit of results, is read aside and harms no other", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const [large, broken, good] = [await world.begun(worker), await world.begun(worker), await world.begun(worker)];
    const text = "é".repeat(200 * 1024);
    const lines = [line(large, 1, { output: text }), `${broken} 1 ${text}`, line(good, 1, { output: 1 })];
    expect((await exchange(worker, { lines })).status).toBe(204);
    expect(await world.status(large)).toMatchObject({ status: "COMPLETED", output: text });
    expect((await world.status(broken)).status).toBe("FAILED");
    expect((await world.status(good)).status).toBe("COMPLETED");
  });

  test("a result that nests too deeply to be written again fails its job alone", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const [deep, good] = [await world.begun(worker), await world.begun(worker)];
    const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const lines = [`${deep} 1 {"output":${nested},"other":1}`, line(good, 1, { output: 1 })];
    expect((await exchange(worker, { lines })).status).toBe(204);
    expect(await world.status(deep)).toMatchObject({
      status: "FAILED",
      error: "the worker's result is nested too deeply",
    });
    expect((await world.status(good)).status).toBe("COMPLETED");
  });
});
