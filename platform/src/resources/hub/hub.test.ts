/** The hub: listings are found and deployed, and their tests prove that what was deployed works. */
import { describe, expect, test } from "vitest";
import { hubJson, LISTING } from "../../../tests/hub-listing.ts";
import { idle } from "../../../tests/idle.ts";
import { setupPods } from "../../../tests/pod-world.ts";
import { type World, type WorldOptions, setup as world$ } from "../../../tests/world.ts";
import { MemoryListings } from "../../ports/listings/memory-listings.ts";

const HUB = "/v2/hub";
const ID = "millrace.echo";
const TICK_MS = 10_000;

async function setup(options: WorldOptions = {}) {
  const source = new MemoryListings({ ...LISTING });
  const world = await world$({ listingSources: [source], rateLimits: "off", ...options });
  const deploy = (body: object = {}, key?: string) =>
    world.call("POST", `${HUB}/listings/${ID}/deploy`, { body, ...(key !== undefined && { key }) });
  const deployment = async (id: string) => (await world.call("GET", `${HUB}/deployments/${id}`)).json;
  return {
    ...{ ...world, source, deploy, deployment },
    /** The next job of an endpoint ends as a worker says. */
    async answer(endpoint: string, result: object): Promise<unknown> {
      const { id, key } = await world.services.workerKeys.issue(world.owner.account, endpoint);
      const at = (verb: string, rest = "") => `/v2/${endpoint}/${verb}/${id}${rest}?gpu=none&isStream=false`;
      const { json: job } = await world.call("GET", at("job-take"), { key });
      await world.call("POST", at("job-done", `/${job.id}`), { key, body: result });
      return job.input;
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
    },
  };
}

type HubWorld = Awaited<ReturnType<typeof setup>>;

const change = (files: HubWorld["source"], with$: (hub: typeof hubJson) => object) => {
  files.files = { ...files.files, "millrace/echo/.runpod/hub.json": JSON.stringify(with$(structuredClone(hubJson))) };
};

async function pass(world: World, ms = TICK_MS): Promise<void> {
  await idle();
  await world.clock.advance(ms);
  await idle();
}

describe("listings", () => {
  test("are listed in short and shown in full", async () => {
    await using world = await setup();
    const { json } = await world.call("GET", `${HUB}/listings`);
    expect(json.listings).toMatchObject([
      {
        ...{ id: ID, title: "Echo", description: "Gives back what it gets.", type: "SERVERLESS", category: "language" },
        ...{ tags: [], owner: "millrace", name: "echo", iconUrl: "https://example.com/icon.png", runsOn: "CPU" },
        ...{ image: "registry.test/echo:1", releaseId: expect.stringMatching(/^millrace\.echo@[0-9a-f]{12}$/) },
        ...{ version: "v1", releasedAt: "1970-01-01T00:00:00.000Z", tests: 1, deploys: 0 },
      },
    ]);
    const whole = (await world.call("GET", `${HUB}/listings/${ID}`)).json;
    expect(whole).toMatchObject({
      ...{ readme: "# Echo", args: "run it", disk: 5, cpu: { id: "cpu3c", vcpuCount: 2 }, gpu: null },
      ...{ env: { FIXED: "always" }, presets: [{ name: "Loud", values: { LEVEL: "9", LOUD: "yes" } }] },
      testNames: ["says it back"],
    });
    expect(whole.variables.map(({ key, default: standard }: Record<string, unknown>) => [key, standard])).toEqual([
      ["LEVEL", "3"],
      ["MODE", "a"],
      ["LOUD", "no"],
      ["TOKEN", null],
    ]);
  });

  test.each([
    ["search=gives+BACK", 1],
    ["search=nothing", 0],
    ["category=Language", 1],
    ["type=POD", 0],
    ["owner=other", 0],
  ])("are found by ?%s", async (query, found) => {
    await using world = await setup();
    expect((await world.call("GET", `${HUB}/listings?${query}`)).json.listings).toHaveLength(found);
  });

  test("are read again when they change, and stay when they cannot be read", async () => {
    await using world = await setup();
    const title = async () => (await world.call("GET", `${HUB}/listings/${ID}`)).json.title;
    expect(await title()).toBe("Echo");
    change(world.source, (hub) => ({ ...hub, title: "Other" }));
    await pass(world);
    expect(await title()).toBe("Other");
    world.source.trouble = "the disk is gone";
    await pass(world);
    expect(await title()).toBe("Other");
    const { sources } = (await world.call("GET", `${HUB}/sources`)).json;
    expect(sources).toMatchObject([{ place: "memory", listings: 1, trouble: "the disk is gone" }]);
  });

  test("that are wrong are left out, and the operator learns the file, the field and the reason", async () => {
    await using world = await setup();
    change(world.source, ({ config, ...hub }) => ({
      ...{ ...hub, config: { ...config, env: [{ key: "A" }, { key: "A" }], containerDiskInGb: "much" } },
    }));
    await pass(world);
    expect((await world.call("GET", `${HUB}/listings/${ID}`)).status).toBe(404);
    const [{ faults }] = (await world.call("GET", `${HUB}/sources`)).json.sources;
    const file = "millrace/echo/.runpod/hub.json";
    expect(faults).toEqual([
      { file, field: "$.config.env[1].key", why: "is 'A' a second time" },
      { file, field: "$.config.containerDiskInGb", why: "must be a whole number from 1 to 1000000" },
    ]);
    const key = await world.strangersKey();
    expect((await world.call("GET", `${HUB}/sources`, { key })).status).toBe(403);
  });
});

describe("deploying", () => {
  test("makes an endpoint with the values that were chosen, and runs the listing's tests on it", async () => {
    await using world = await setup();
    const { status, json } = await world.deploy({ name: "mine", preset: "Loud", variables: { LEVEL: 5, TOKEN: "t" } });
    expect([status, json]).toEqual([
      201,
      {
        ...{ id: expect.any(String), type: "SERVERLESS", title: "Echo", listingId: ID, updateTo: null, testedAt: null },
        ...{ releaseId: expect.stringContaining("millrace.echo@"), createdAt: expect.any(String), test: "RUNNING" },
        testReason: expect.any(String),
        tests: [expect.objectContaining({ name: "says it back", outcome: "WAITING", reason: null })],
      },
    ]);
    const endpoint = (await world.call("GET", `/v2/serverless/${json.id}`)).json;
    expect(endpoint).toMatchObject({
      ...{ name: "mine", image: "registry.test/echo:1", args: "run it", disk: 5, type: "QUEUE" },
      env: { FIXED: "always", LEVEL: "5", MODE: "a", LOUD: "yes", TOKEN: "t" },
      cpu: [{ id: "cpu3c", vcpuCount: 2 }],
    });
    await pass(world);
    expect(await world.deployment(json.id)).toMatchObject({ testReason: expect.stringContaining("no worker") });
    expect(await world.answer(json.id, { output: { hello: "world", more: 1 } })).toEqual({ hello: "world" });
    await pass(world);
    expect(await world.deployment(json.id)).toMatchObject({
      ...{ test: "PASSED", testReason: null, testedAt: expect.any(String) },
      tests: [{ outcome: "PASSED", reason: null, jobId: expect.any(String) }],
    });
    expect((await world.call("GET", `${HUB}/listings`)).json.listings[0].deploys).toBe(1);
  });

  test.each([
    ["an output that differs", { output: { hello: "you" } }, 'output.hello is "you", and not "world"'],
    ["an output without it", { output: {} }, "output has no 'hello'"],
    ["an error", { error: "out of memory" }, "the job ended as FAILED: out of memory"],
  ])("fails its test with %s, and says why", async (_, result, why) => {
    await using world = await setup();
    const { id } = (await world.deploy()).json;
    await pass(world);
    await world.answer(id, result);
    await pass(world);
    expect(await world.deployment(id)).toMatchObject({ test: "FAILED", testReason: why, tests: [{ reason: why }] });
    expect((await world.call("POST", `${HUB}/deployments/${id}/test`)).json).toMatchObject({ test: "RUNNING" });
    await pass(world);
    await world.answer(id, { output: { hello: "world" } });
    await pass(world);
    expect((await world.deployment(id)).test).toBe("PASSED");
  });

  test("survives the end of the server while a test is under way, with one job", async () => {
    const source = new MemoryListings({ ...LISTING });
    const first = await setup({ listingSources: [source] });
    const { id } = (await first.deploy()).json;
    await pass(first);
    await first.abandon();
    await using second = await setup({ store: first.store, found: first, listingSources: [source] });
    await pass(second);
    const { jobs } = (await second.call("GET", `/v2/${id}/health`)).json;
    expect(jobs.inQueue).toBe(1);
    await second.answer(id, { output: { hello: "world" } });
    await pass(second);
    expect((await second.deployment(id)).test).toBe("PASSED");
  });

  test.each([
    ["a number that is none", { LEVEL: "x" }, "$.variables.LEVEL: must be a number"],
    ["a number out of bounds", { LEVEL: 11 }, "$.variables.LEVEL: must be at most 10"],
    ["a text that is no option", { MODE: "b" }, "$.variables.MODE: must be one of a"],
    ["a boolean that is none", { LOUD: "maybe" }, "$.variables.LOUD: must be true or false"],
    ["a variable that does not exist", { NONE: "1" }, "$.variables.NONE: this listing has no such variable"],
  ])("refuses %s", async (_, variables, why) => {
    await using world = await setup();
    const { status, json } = await world.deploy({ variables });
    expect([status, json.errors]).toEqual([422, [expect.stringContaining(why)]]);
    expect((await world.call("GET", "/v2/serverless")).json.endpoints).toEqual([]);
  });

  test("asks for what the listing requires, and for an image if it names none", async () => {
    await using world = await setup();
    change(world.source, ({ millrace: _, ...hub }) => {
      Object.assign(hub.config.env[4]!.input!, { required: true });
      return hub;
    });
    await pass(world);
    const { json } = await world.deploy();
    expect(json.errors).toEqual([
      "$.variables.TOKEN: 'Token' is required",
      "$.image: this listing names no image; name the one that you built from its repository",
    ]);
    const body = { variables: { TOKEN: "{{ MILLRACE_SECRET_t }}" }, image: "registry.test/built:1" };
    expect((await world.deploy(body)).status).toBe(201);
  });

  test("takes the operator's image for a repository that names none", async () => {
    await using world = await setup();
    change(world.source, ({ millrace: _, ...hub }) => hub);
    world.source.files["images.json"] = JSON.stringify({ "Millrace/Echo": "registry.test/ours:2" });
    await pass(world);
    expect((await world.call("GET", `${HUB}/listings/${ID}`)).json.image).toBe("registry.test/ours:2");
  });

  test("runs no test with a key that may not invoke, or when nobody wants one", async () => {
    await using world = await setup();
    const key = await world.newKey({ scopes: ["serverless:write"] });
    expect((await world.deploy({}, key)).json).toMatchObject({ test: "NONE" });
    expect((await world.deploy({ test: false })).json).toMatchObject({ test: "NONE" });
    expect((await world.deploy({}, await world.newKey({ scopes: ["read-only"] }))).status).toBe(403);
  });

  test("another account sees the listing, and nothing of what was deployed", async () => {
    await using world = await setup();
    const { id } = (await world.deploy()).json;
    const key = await world.strangersKey();
    expect((await world.call("GET", `${HUB}/listings/${ID}`, { key })).status).toBe(200);
    expect((await world.call("GET", `${HUB}/deployments`, { key })).json.deployments).toEqual([]);
    for (const [method, path] of [
      ["GET", ""],
      ["POST", "/test"],
      ["POST", "/update"],
    ] as const)
      expect((await world.call(method, `${HUB}/deployments/${id}${path}`, { key })).status).toBe(404);
  });

  test("goes with the endpoint", async () => {
    await using world = await setup();
    const { id } = (await world.deploy()).json;
    expect((await world.call("GET", `${HUB}/deployments`)).json.deployments).toHaveLength(1);
    await world.call("DELETE", `/v2/serverless/${id}`);
    expect((await world.call("GET", `${HUB}/deployments`)).json.deployments).toEqual([]);
  });

  test("is brought to a newer release, and keeps the values that were chosen", async () => {
    await using world = await setup();
    const { id } = (await world.deploy({ variables: { LEVEL: 5 }, disk: 9, test: false })).json;
    expect((await world.call("POST", `${HUB}/deployments/${id}/update`)).json.detail).toContain("newest release");
    change(world.source, (hub) => {
      hub.millrace.image = "registry.test/echo:2";
      hub.config.env.push({ key: "NEW", input: { name: "New", type: "string", default: "n" } } as never);
      Object.assign(hub.config.env[0]!, { value: "changed" });
      return hub;
    });
    await pass(world);
    const { updateTo, releaseId } = await world.deployment(id);
    expect(updateTo).not.toBe(releaseId);
    const { json } = await world.call("POST", `${HUB}/deployments/${id}/update`);
    expect(json).toMatchObject({ releaseId: updateTo, updateTo: null, test: "RUNNING" });
    expect((await world.call("GET", `/v2/serverless/${id}`)).json).toMatchObject({
      image: "registry.test/echo:2",
      disk: 9,
      env: { LEVEL: "5", NEW: "n", FIXED: "changed" },
    });
  });
});

describe("a listing of a Pod", () => {
  const pod = {
    ...hubJson,
    type: "pod",
    millrace: { image: "registry.test/page:1", ports: ["8080/http"], volumeInGb: 1 },
  };
  const withTests = (tests: object) =>
    new MemoryListings({ "page/hub.json": JSON.stringify(pod), "page/tests.json": JSON.stringify({ tests }) });

  test("becomes a Pod, whose test passes once it runs", async () => {
    await using world = await setupPods({ listingSources: [withTests([{ name: "runs" }])] });
    const { status, json } = await world.call("POST", `${HUB}/listings/memory.page/deploy`, { body: { name: "p" } });
    expect([status, json.type ?? json.detail]).toEqual([201, "POD"]);
    await world.pass(3);
    expect((await world.call("GET", `${HUB}/deployments/${json.id}`)).json).toMatchObject({ test: "PASSED" });
    expect(await world.pod(json.id)).toMatchObject({ name: "p", ports: ["8080/http"] });
    await world.call("DELETE", `/v2/pods/${json.id}`);
    expect((await world.call("GET", `${HUB}/deployments/${json.id}`)).status).toBe(404);
    expect((await world.call("GET", `${HUB}/deployments`)).json.deployments).toEqual([]);
  });

  test("needs the right to make Pods", async () => {
    await using world = await setupPods({ listingSources: [withTests([{ name: "runs" }])] });
    const key = await world.newKey({ scopes: ["serverless:write", "catalog:read"] });
    const { status, json } = await world.call("POST", `${HUB}/listings/memory.page/deploy`, { key, body: {} });
    expect([status, json.detail]).toEqual([403, expect.stringContaining("'pods:write'")]);
  });
});
