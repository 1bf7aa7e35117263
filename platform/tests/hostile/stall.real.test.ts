/** The general stall watch: whatever a limited account or its worker sends to any route, nobody else waits for it. */
import { createHmac } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operations } from "../../src/contract.ts";
import { stay } from "../../src/kernel/clock.ts";
import { DEFAULT_BODY_LIMIT, MIB, type Operation, pathParameters } from "../../src/kernel/operation.ts";
import { realRandom, SeededRandom } from "../../src/kernel/random.ts";
import { type Folder, millrace, ownerKey, temporaryFolder } from "../process.ts";
import { type Answer, call } from "../world.ts";
import { startWatched, type WatchedServer } from "./loop-watch.ts";
import { worstValues, wrapped } from "./worst-bodies.ts";

/** The processor time that one turn may take. The time that an idle server takes for its duties is allowed on top. */
const MOST_MS = 50;
/** Code is slow when it runs for the first time, or when others keep the processors busy. So the best of a few tries counts. */
const TRIES = 8;

/** The kinds of values that were the slowest in long bodies. */
const LONG = ["short members", "long text"];
const KINDS_EACH = 1;

/** To repeat a failed run, set the seed that it printed: MILLRACE_TEST_SEED=… */
const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
const random = new SeededRandom(seed);
console.log(`MILLRACE_TEST_SEED=${seed}`);

function someKinds(): string[] {
  const kinds = Object.keys(worstValues);
  const first = random.below(kinds.length);
  return [...kinds, ...kinds].slice(first, first + KINDS_EACH);
}

const WEBHOOK_SECRET = "between the two of us";

let folder: Folder;
let server: WatchedServer;
let key: string;
let endpoint: string;
let worker: { key: string; id: string };
let idleMs: number;

beforeAll(async () => {
  folder = await temporaryFolder();
  const data = join(folder.path, "data");
  const webhooks = { MILLRACE_WEBHOOK_PRIVATE: "allow", MILLRACE_WEBHOOK_SECRET: WEBHOOK_SECRET };
  const env = { MILLRACE_LOG_LEVEL: "warn", MILLRACE_RATE_LIMITS: "off", ...webhooks };
  server = await startWatched(data, { env });
  key = await ownerKey(data);
  endpoint = await newEndpoint();
  const variables = await millrace(data, "worker-env", endpoint);
  worker = { key: variables.MILLRACE_WORKER_KEY, id: variables.MILLRACE_WORKER_ID };
  idleMs = await longestDuring(() => stay(500));
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

async function newEndpoint(): Promise<string> {
  const body = { name: "stall", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  return (await server.call("POST", "/v2/serverless", { key, body })).json.id;
}

async function longestDuring(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES && best > MOST_MS; tries++) {
    await server.longestTurn();
    await work();
    await stay(20);
    best = Math.min(best, await server.longestTurn());
  }
  return best;
}

interface Sent {
  method: string;
  path: string;
  body?: string;
  by?: string;
}

async function send({ method, path, body, by = key }: Sent): Promise<number> {
  return (await call(server.url, method, path, { key: by, body })).status;
}

async function expectNobodyWaits(sent: Sent | (() => Promise<Sent>), expected?: number): Promise<void> {
  const longest = await longestDuring(async () => {
    const status = await send(typeof sent === "function" ? await sent() : sent);
    // A fault would measure nothing, and the server reads no body of a stranger.
    expect([401, 500]).not.toContain(status);
    expect(status).toBe(expected ?? status);
  });
  expect(longest - idleMs).toBeLessThan(MOST_MS);
}

/** Creates a job that the worker has taken. */
async function begun(body: string | object = { input: {} }): Promise<string> {
  const { json } = await server.call("POST", `/v2/${endpoint}/run`, { key, body });
  const path = `/v2/${endpoint}/job-take-batch/${worker.id}?batch_size=100`;
  expect((await call(server.url, "GET", path, { key: worker.key })).status).toBe(200);
  return json.id;
}

describe("operations of the contract", () => {
  const withBody = Object.entries(operations as Record<string, Operation>).filter(([, operation]) => operation.in);

  test.each(withBody)(
    "%s, with the worst bodies that it takes",
    async (_name, { method, path, bodyLimit, in: shape }) => {
      const bytes = (bodyLimit ?? DEFAULT_BODY_LIMIT) - 64;
      const fields = Object.keys((shape as { properties?: object }).properties ?? {});
      const field = fields.find((name) => ["cpu", "keys", "value", "scopes"].includes(name)) ?? fields[0] ?? "name";
      const url = pathParameters(path).reduce((url, name) => url.replace(`{${name}}`, endpoint), path);
      // Long bodies also cost this test much time, so they only use the slowest kinds of values. All operations read bodies in the same
      // steps, so each other operation gets some kinds, and together they cover all of them.
      const kinds = bytes > 2 * MIB ? LONG : someKinds();
      for (const value of kinds.map((kind) => worstValues[kind]!))
        for (const names of bytes > 2 * MIB ? [[field]] : [[], [field]])
          await expectNobodyWaits({ method, path: url, body: wrapped(value(bytes), names) });
    },
  );

  test("queries with as many parameters as fit", async () => {
    for (const query of ["a&".repeat(15_000), `limit=${"1".repeat(30_000)}`, `cursor=${"%41".repeat(10_000)}`])
      await expectNobodyWaits({ method: "GET", path: `/v2/serverless?${query}` });
  });
});

describe("GraphQL", () => {
  const all =
    "id displayName manufacturer memoryInGb securePrice lowestPrice(input: {gpuCount: 1}) { stockStatus minVcpu }";
  const many = (made: (i: number) => string, length: number) => Array.from({ length }, (_, i) => made(i)).join(" ");
  const circle = "fragment A on User { ...B } fragment B on User { ...A }";

  test.each([
    ["as much as is answered at once", `{ ${many((i) => `a${i}: gpuTypes { ${all} }`, 100)} }`],
    [
      "more than is answered at once",
      `{ dataCenters { gpuAvailability { gpuType { ${all} nodeGroupDatacenters { id } } } } }`,
    ],
    ["ten thousand aliases", `{ ${many((i) => `a${i}: countryCodes`, 10_000)} }`],
    ["the same field ten thousand times", `{ ${"countryCodes ".repeat(10_000)} }`],
    ["nesting without an end", "{ myself ".repeat(50_000)],
    ["fragments in a circle", `{ myself { ...A } } ${circle}`],
    ["a megabyte of text", `{ pod(input: { podId: "${"x".repeat(1_040_000)}" }) { id } }`],
    ["a megabyte of commas", `{ myself { id${",".repeat(1_040_000)} } }`],
  ])("%s", async (_what, query) => {
    await expectNobodyWaits({ method: "POST", path: "/graphql", body: JSON.stringify({ query }) });
  });

  test("long lists in variables", async () => {
    const query = "query ($ids: [String]) { gpuTypes(input: { ids: $ids }) { id } }";
    const body = JSON.stringify({ query, variables: { ids: Array(150_000).fill("x") } });
    await expectNobodyWaits({ method: "POST", path: "/graphql", body });
  });
});

describe.each(LONG)("calls of an endpoint, with %s", (kind) => {
  const value = worstValues[kind]!;

  test.each([
    ["run", 256 * 1024 - 64, ["input", "x"]],
    ["run", 10 * MIB - 64, ["input", "x"]],
    ["batch", 10 * MIB - 64, ["requests"]],
  ])("/%s of %i bytes", async (route, bytes, names) => {
    const body = wrapped(value(bytes), names);
    await expectNobodyWaits({ method: "POST", path: `/v2/${endpoint}/${route}`, body });
    await server.call("POST", `/v2/${endpoint}/purge-queue`, { key });
  });

  test("/openai of 20 MB, which is held for its worker", async () => {
    const body = wrapped(value(20 * MIB - 64), ["messages"]);
    const longest = await longestDuring(async () => {
      const letGo = new AbortController();
      const path = `/v2/${endpoint}/openai/v1/chat/completions`;
      const answer = call(server.url, "POST", path, { key, body, signal: letGo.signal }).catch(() => undefined);
      const waiting = async () => (await server.call("GET", `/v2/${endpoint}/health`, { key })).json.jobs.inQueue > 0;
      let answered: Answer | undefined;
      const noted = answer.then((given) => {
        answered = given;
      });
      while (!answered && !(await waiting())) await stay(50);
      // A refused request would not have been read.
      expect(answered).toBeUndefined();
      letGo.abort();
      await noted;
      await server.call("POST", `/v2/${endpoint}/purge-queue`, { key });
    });
    expect(longest - idleMs).toBeLessThan(MOST_MS);
  });

  test("results and chunks of a worker", async () => {
    const by = worker.key;
    const body = wrapped(value(20 * MIB - 64), ["output"]);
    for (const route of ["job-done", "job-stream"])
      await expectNobodyWaits(async () => {
        const path = `/v2/${endpoint}/${route}/${worker.id}/${await begun()}`;
        await server.longestTurn();
        return { method: "POST", path, body, by };
      });
  });
});

/** Receives webhooks, and reports for each whether it is signed, and its first and last characters. */
async function openTarget() {
  const told = new EventEmitter();
  const target = createServer(async (request, response) => {
    const body = await buffer(request);
    const [, seconds, signature] = /^t=(\d+),v1=(\w+)$/.exec(`${request.headers["x-millrace-signature"]}`)!;
    const isSigned =
      createHmac("sha256", WEBHOOK_SECRET).update(`${seconds}.`).update(body).digest("hex") === signature;
    response.end();
    told.emit("one", { isSigned, begins: body.toString("utf8", 0, 11), ends: body.toString("utf8", body.length - 4) });
  });
  await once(target.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(target.address() as AddressInfo).port}`,
    next: async () => (await once(told, "one"))[0],
    [Symbol.dispose]: () => void target.close(),
  };
}

test.each([
  ["in the input", (members: string) => `"input":${members}}`],
  ["beside the input", (members: string) => `"input":{"0":0},${members.slice(1)}`],
])("the end of a job as a webhook, with a long result and many members %s", async (_where, rest) => {
  using target = await openTarget();
  const request = `{"webhook":"${target.url}",${rest(worstValues["short members"]!(MIB - 1000))}`;
  const body = wrapped(worstValues["long text"]!(19 * MIB), ["output"]);
  const longest = await longestDuring(async () => {
    const job = await begun(request);
    const told = target.next();
    await send({ method: "POST", path: `/v2/${endpoint}/job-done/${worker.id}/${job}`, body, by: worker.key });
    expect(await told).toEqual({ isSigned: true, begins: '{"output":"', ends: ":0}}" });
  });
  expect(longest - idleMs).toBeLessThan(MOST_MS);
});

test("lines of an exchange, and jobs in a ping", async () => {
  const by = worker.key;
  const path = `/v2/${endpoint}/job-exchange/${worker.id}?take=0`;
  for (const line of ["a 1 {}\n", "\n", `a 1 ${wrapped(worstValues["short members"]!(200_000), ["output"])}\n`]) {
    await expectNobodyWaits({ method: "POST", path, body: line.repeat((20 * MIB) / line.length), by });
    await expectNobodyWaits({ method: "POST", path, body: line.repeat(Math.min(9999, (20 * MIB) / line.length)), by });
  }
  const listed = Array.from({ length: 5000 }, (_, i) => i.toString(36)).join(",");
  await expectNobodyWaits({ method: "GET", path: `/v2/${endpoint}/ping/${worker.id}?job_id=${listed}`, by });
});

describe("credentials", () => {
  const request = (secret: string, padding: string) =>
    `{"input":{"x":${padding}},"s3Config":{"accessSecret":"${secret}"}}`;
  const members = worstValues["short members"]!;
  const batch = (count: number, bytes: number) =>
    `[${Array.from({ length: count }, (_, i) => request(`secret ${i}`, members(bytes / count - 200))).join(",")}]`;

  test.each([
    ["of one long request of a batch", "batch", 200, () => batch(1, 10 * MIB)],
    ["of a hundred requests of a batch", "batch", 200, () => batch(100, 10 * MIB)],
    ["of five thousand requests of a batch", "batch", 200, () => batch(5000, 10 * MIB)],
    ["of five thousand short ones", "batch", 200, () => batch(5000, 1 * MIB)],
    ["that is as long as a request may be", "run", 400, () => request("\\u00e9".repeat(1.6 * MIB), "0")],
    ["that is as long as a batch may be", "batch", 400, () => `[${request("\\u00e9".repeat(1.6 * MIB), "0")}]`],
  ])("%s", async (_which, route, expected, body) => {
    // A new endpoint each time, since an endpoint can only have a limited number of batches at once.
    const path = `/v2/${await newEndpoint()}/${route}`;
    await expectNobodyWaits({ method: "POST", path, body: body() }, expected);
  });
});

test("five thousand requests of a batch: gathered, listed, sent, listed as jobs, and purged", async () => {
  const body = `[${'{"input":{}},'.repeat(4999)}{"input":{}}]`;
  const [first] = (await server.call("POST", `/v2/${endpoint}/batch`, { key, body })).json.requestIds;
  expect(first).toBeTruthy();
  await expectNobodyWaits({ method: "POST", path: `/v2/${endpoint}/batch`, body });
  const { batches } = (await server.call("GET", `/v2/${endpoint}/batch`, { key })).json;
  const path = `/v2/${endpoint}/batch/${batches[0].id}`;
  await expectNobodyWaits({ method: "GET", path: `${path}/requests?limit=1000` });
  expect(
    await longestDuring(async () => {
      await send({ method: "POST", path: `${path}/finalize` });
      await stay(1500);
    }),
  ).toBeLessThan(MOST_MS + idleMs);
  await expectNobodyWaits({ method: "GET", path: `/v2/${endpoint}/requests?limit=1000` });
  await server.longestTurn();
  await send({ method: "POST", path: `/v2/${endpoint}/purge-queue` });
  expect(await server.longestTurn()).toBeLessThan(MOST_MS + idleMs);
});
