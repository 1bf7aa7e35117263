/** Endpoints as records: who may create, list, read and delete them. */
import { describe, expect, test } from "vitest";
import { setup, type World } from "../../../tests/world.ts";

const ENDPOINTS = "/v2/serverless";
const GPU = { name: "vision", image: "registry.test/vision:1", gpu: { pools: ["ADA_24"] } };
const CPU = { name: "text", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const UNKNOWN = "aaaaaaaaaaaaaa";

const create = (world: World, body: object = CPU) => world.call("POST", ENDPOINTS, { body });

async function createMany(world: World, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    ids.push((await create(world)).json.id);
    await world.clock.advance(1);
  }
  return ids;
}

describe("create", () => {
  test("answers 201 with the whole record: what was sent, and the defaults of the rest", async () => {
    await using world = await setup();
    const { status, json } = await create(world, GPU);
    const base = `https://millrace.test/v2/${json.id}`;
    expect(status).toBe(201);
    expect(json).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{14}$/),
      name: "vision",
      type: "QUEUE",
      requestUrls: {
        run: `${base}/run`,
        runSync: `${base}/runsync`,
        status: `${base}/status/{job_id}`,
        stream: `${base}/stream/{job_id}`,
        cancel: `${base}/cancel/{job_id}`,
        retry: `${base}/retry/{job_id}`,
        purgeQueue: `${base}/purge-queue`,
        health: `${base}/health`,
      },
      image: "registry.test/vision:1",
      args: "",
      entrypoint: [],
      cmd: [],
      disk: 20,
      env: {},
      ports: [],
      registry: null,
      gpu: { pools: ["ADA_24"], count: 1, allowedCudaVersions: [], minCudaVersion: null },
      workers: { min: 0, max: 3, idleTimeout: 10 },
      scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
      dataCenterIds: [],
      networkVolumes: [],
      modelReferences: [],
      timeout: 300_000,
      flashboot: "OFF",
      createdAt: "2026-01-01T00:00:00.000Z",
    });
  });

  test("every field that was sent comes back as it was sent", async () => {
    await using world = await setup();
    const body = {
      ...GPU,
      type: "QUEUE",
      disk: 5,
      env: { MODEL: "small", TOKEN: "{{ MILLRACE_SECRET_hub }}" },
      ports: ["8000/http", "22/tcp"],
      workers: { min: 1, max: 1, idleTimeout: 3600 },
      scaling: { type: "QUEUE_DELAY", queueDelay: 0.5 },
      dataCenterIds: ["US-TX-3", "US-CA-1"],
      timeout: 5000,
      flashboot: "PRIORITY_FLASHBOOT",
    };
    const { gpu: _, ...plain } = body;
    expect((await create(world, body)).json).toMatchObject(plain);
  });

  test("two endpoints may have one name", async () => {
    await using world = await setup();
    const [first, second] = [(await create(world)).json, (await create(world)).json];
    expect([first.name, first.id === second.id]).toEqual([second.name, false]);
  });

  test.each([
    [{ image: "busybox", cpu: CPU.cpu }, "$: property 'name' is required unless 'templateId' is given"],
    [{ name: "n", cpu: CPU.cpu }, "$: property 'image' is required unless 'templateId' is given"],
    [{ ...CPU, name: "" }, "$.name: must not be empty"],
    [{ ...CPU, image: "" }, "$.image: must not be empty"],
    [{ ...CPU, bogus: 1 }, "$: additional properties 'bogus' not allowed"],
    [{ ...CPU, id: UNKNOWN }, "$: additional properties 'id' not allowed"],
    [{ ...CPU, type: "BATCH" }, "$.type: must be one of QUEUE, LOAD_BALANCER"],
    [{ ...CPU, disk: 0 }, "$.disk: must be >= 1"],
    [{ ...CPU, disk: 1.5 }, "$.disk: must be integer"],
    [{ ...CPU, env: { A: 1 } }, "$.env.A: must be string"],
    [{ ...CPU, env: { "A=B": "1" } }, "$.env: additional properties 'A=B' not allowed"],
    [{ ...CPU, ports: ["8000"] }, "$.ports[0]: must match ^([1-9]\\d{0,4})/(http|tcp)$"],
    [{ ...CPU, ports: ["8000/udp"] }, "$.ports[0]: must match ^([1-9]\\d{0,4})/(http|tcp)$"],
    [{ ...CPU, timeout: 0 }, "$.timeout: must be >= 5000"],
    [{ ...CPU, timeout: 604_800_001 }, "$.timeout: must be <= 604800000"],
    [{ ...CPU, flashboot: "ON" }, "$.flashboot: must be one of OFF, FLASHBOOT, PRIORITY_FLASHBOOT"],
    [{ ...CPU, name: "a\u0000b" }, "$.name: must not contain the character U+0000"],
  ])("422: %j", async (body, error) => {
    await using world = await setup();
    const { status, json } = await create(world, body);
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("404: a template that is not there", async () => {
    await using world = await setup();
    const { status, json } = await create(world, { templateId: UNKNOWN });
    expect([status, json.detail]).toEqual([404, "template not found"]);
  });

  test.each([[UNKNOWN], [{ id: UNKNOWN }]])("404: no registry is named by %j", async (registry) => {
    await using world = await setup();
    const { status, json } = await create(world, { ...CPU, registry });
    expect([status, json.detail]).toEqual([404, "registry not found"]);
  });

  test.each([
    ["", "$.registry: must not be empty"],
    [{}, "$.registry: property 'id' is required"],
    [{ id: "" }, "$.registry.id: must not be empty"],
    [{ id: "a", name: "b" }, "$.registry: additional properties 'name' not allowed"],
    [7, "$.registry: must be null or string or object"],
  ])("422: %j names no registry", async (registry, error) => {
    await using world = await setup();
    const { status, json } = await create(world, { ...CPU, registry });
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("400: data centers that do not exist are named", async () => {
    await using world = await setup();
    const nowhere = await create(world, { ...CPU, dataCenterIds: ["US-CA-1", "ATLANTIS-1"] });
    expect([nowhere.status, nowhere.json.detail]).toEqual([400, "There is no data center 'ATLANTIS-1'."]);
  });
});

describe("where the endpoint is reached", () => {
  test("URLs begin with the public URL, whatever address the caller used", async () => {
    await using world = await setup({ publicUrl: "https://gpu.example.org/millrace" });
    const { id, requestUrls } = (await create(world)).json;
    expect(requestUrls.run).toBe(`https://gpu.example.org/millrace/v2/${id}/run`);
  });

  test.each([
    [undefined, "/ping"],
    [{ HEALTH_CHECK_PATH: "/alive" }, "/alive"],
  ])("a load balancer has a base and a health URL; with env %j the latter ends in %s", async (env, path) => {
    await using world = await setup();
    const { id, requestUrls } = (await create(world, { ...CPU, type: "LOAD_BALANCER", env })).json;
    const base = `https://millrace.test/v2/${id}`;
    expect(requestUrls).toEqual({ base, health: base + path });
  });
});

describe("list", () => {
  test("is empty at first, and says that there is no further page", async () => {
    await using world = await setup();
    const { status, json } = await world.call("GET", ENDPOINTS);
    expect([status, json]).toEqual([200, { endpoints: [], pagination: { nextCursor: null, hasNextPage: false } }]);
  });

  test("holds whole records, newest first", async () => {
    await using world = await setup();
    const ids = await createMany(world, 3);
    const { endpoints } = (await world.call("GET", ENDPOINTS)).json;
    expect(endpoints.map(({ id }: { id: string }) => id)).toEqual(ids.toReversed());
    expect(endpoints[0]).toEqual((await world.call("GET", `${ENDPOINTS}/${ids[2]}`)).json);
  });

  test("pages follow one another to the end, each endpoint once", async () => {
    await using world = await setup();
    const ids = await createMany(world, 5);
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor = "";
    for (let more = true; more; ) {
      const { endpoints, pagination } = (await world.call("GET", `${ENDPOINTS}?limit=2${cursor}`)).json;
      seen.push(...endpoints.map(({ id }: { id: string }) => id));
      sizes.push(endpoints.length);
      more = pagination.hasNextPage;
      expect(pagination.nextCursor === null).toBe(!more);
      cursor = `&cursor=${pagination.nextCursor}`;
    }
    expect([seen, sizes]).toEqual([ids.toReversed(), [2, 2, 1]]);
  });

  test("an endpoint made between two pages moves nothing on the second", async () => {
    await using world = await setup();
    const ids = await createMany(world, 4);
    const { pagination } = (await world.call("GET", `${ENDPOINTS}?limit=2`)).json;
    await createMany(world, 1);
    const { endpoints } = (await world.call("GET", `${ENDPOINTS}?limit=2&cursor=${pagination.nextCursor}`)).json;
    expect(endpoints.map(({ id }: { id: string }) => id)).toEqual([ids[1], ids[0]]);
  });

  test("a key that is narrowed gets full pages of its own, and none behind the last", async () => {
    await using world = await setup();
    const ids = await createMany(world, 6);
    const key = await world.newKey({ endpoints: [ids[0]!, ids[3]!] });
    const list = async (query: string) => (await world.call("GET", `${ENDPOINTS}?limit=1${query}`, { key })).json;
    const first = await list("");
    expect(first.endpoints.map(({ id }: { id: string }) => id)).toEqual([ids[3]]);
    const second = await list(`&cursor=${first.pagination.nextCursor}`);
    expect(second.endpoints.map(({ id }: { id: string }) => id)).toEqual([ids[0]]);
    expect(second.pagination.hasNextPage).toBe(false);
  });

  const foreign = Buffer.from(JSON.stringify(["pods", 1, "aaaaaaaaaaaaaa"])).toString("base64url");
  const noPlace = Buffer.from(JSON.stringify(["endpoints", "yesterday", "a"])).toString("base64url");
  const unstorable = Buffer.from(JSON.stringify(["endpoints", 1, "a\u0000"])).toString("base64url");
  test.each([
    ["of another listing", foreign],
    ["with text that no database can hold", unstorable],
    ["that names no place", noPlace],
    ["that is none", "abc"],
    ["in odd letters", "%25%00"],
  ])("422: a cursor %s", async (_kind, cursor) => {
    await using world = await setup();
    const { status, json } = await world.call("GET", `${ENDPOINTS}?cursor=${cursor}`);
    expect([status, json.errors]).toEqual([422, ["$.cursor: is not a cursor of this listing"]]);
  });

  test.each([
    ["cursor=", "$.cursor: must not be empty"],
    ["limit=0", "$.limit: must be >= 1"],
    ["limit=1001", "$.limit: must be <= 1000"],
    ["limit=many", "$.limit: must be integer"],
    ["limit=1.5", "$.limit: must be integer"],
  ])("422: ?%s", async (query, error) => {
    await using world = await setup();
    const { status, json } = await world.call("GET", `${ENDPOINTS}?${query}`);
    expect([status, json.errors]).toEqual([422, [error]]);
  });

  test("holds no endpoint of another account", async () => {
    await using world = await setup();
    await createMany(world, 1);
    const { json } = await world.call("GET", ENDPOINTS, { key: await world.strangersKey() });
    expect(json.endpoints).toEqual([]);
  });
});

describe("delete", () => {
  test("answers 204 with nothing; the endpoint is gone for every operation", async () => {
    await using world = await setup();
    const { id } = (await create(world)).json;
    const { status, text } = await world.call("DELETE", `${ENDPOINTS}/${id}`);
    expect([status, text]).toEqual([204, ""]);
    const again = ["GET", "DELETE"].map((method) => world.call(method, `${ENDPOINTS}/${id}`));
    const patched = world.call("PATCH", `${ENDPOINTS}/${id}`, { body: { name: "n" } });
    const run = world.call("POST", `/v2/${id}/run`, { body: { input: {} } });
    const statuses = (await Promise.all([...again, patched, run])).map((answer) => answer.status);
    expect(statuses).toEqual([404, 404, 404, 404]);
    expect((await world.call("GET", ENDPOINTS)).json.endpoints).toEqual([]);
  });

  test("of two deletions at once, one succeeds", async () => {
    await using world = await setup();
    const { id } = (await create(world)).json;
    const both = await Promise.all([1, 2].map(() => world.call("DELETE", `${ENDPOINTS}/${id}`)));
    expect(both.map(({ status }) => status).toSorted()).toEqual([204, 404]);
  });

  test("its jobs, its counters and its worker keys go with it", async () => {
    await using world = await setup();
    const { id } = (await create(world)).json;
    const { key } = await world.services.workerKeys.issue(world.owner.account, id);
    const job = (await world.call("POST", `/v2/${id}/run`, { body: { input: { a: 1 } } })).json.id;
    await world.call("DELETE", `${ENDPOINTS}/${id}`);
    expect(await world.queue.read(job, world.clock.now())).toBeUndefined();
    expect(await world.queue.counts(id)).toMatchObject({ inQueue: 0, inProgress: 0 });
    expect(await world.services.workerKeys.opens(key, id, "w1")).toBeUndefined();
  });
});

describe("a key narrowed to some endpoints", () => {
  async function narrowed() {
    const world = await setup();
    const [mine, other] = (await createMany(world, 2)) as [string, string];
    return { world, mine, other, key: await world.newKey({ endpoints: [mine] }) };
  }

  test("reads, changes and deletes those, and is refused the others with 403", async () => {
    const { world, mine, other, key } = await narrowed();
    await using _ = world;
    const body = { name: "renamed" };
    for (const [id, expected] of [
      [other, [403, 403, 403]],
      [mine, [200, 200, 204]],
    ] as const) {
      const path = `${ENDPOINTS}/${id}`;
      const read = await world.call("GET", path, { key });
      const changed = await world.call("PATCH", path, { key, body });
      const deleted = await world.call("DELETE", path, { key });
      expect([read.status, changed.status, deleted.status]).toEqual(expected);
    }
  });

  test("sees only those in the list, and makes no others", async () => {
    const { world, mine, key } = await narrowed();
    await using _ = world;
    const { endpoints } = (await world.call("GET", ENDPOINTS, { key })).json;
    expect(endpoints.map(({ id }: { id: string }) => id)).toEqual([mine]);
    expect((await world.call("POST", ENDPOINTS, { key, body: CPU })).status).toBe(403);
  });

  test("learns of another account's endpoint no more than that it does not exist", async () => {
    const { world, mine } = await narrowed();
    await using _ = world;
    const owner = await world.services.accounts.create("stranger", "s@localhost");
    const key = await world.newKey({ of: owner, endpoints: [UNKNOWN] });
    expect((await world.call("GET", `${ENDPOINTS}/${mine}`, { key })).status).toBe(404);
  });
});
