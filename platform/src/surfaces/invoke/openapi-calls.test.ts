/** The OpenAPI document of endpoint calls is true: the tests call every operation with its examples and check every answer against it. */
import { describe, expect, test } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";
import { callsIn, DescribedAnswers, type DescribedCall } from "../../../tests/described-answers.ts";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";
import type { Answer, CallOptions } from "../../../tests/world.ts";
import { MIB } from "../../kernel/operation.ts";
import { invokeDocument } from "./openapi.ts";

const document = invokeDocument();
const answers = new DescribedAnswers(document);
const calls = callsIn(document);
const toQueues = calls.filter(({ tags }) => !tags.includes("Load balancing"));

/** Limits in MB for bodies and results. Results longer than the third are kept behind a URL. */
const LIMITS = "1,1,1,4";
/** The answer to a worker with a wrong key is delayed this long. */
const WRONG_KEY_HOLD_MS = 5000;

interface Asked extends CallOptions {
  ids?: Record<string, string>;
  query?: string;
  /** What a worker does during the call. */
  meanwhile?: (worker: TestWorker) => Promise<unknown>;
}

type Prepare = (world: JobWorld, worker: TestWorker) => Promise<Asked>;

const answering = (output: unknown) => async (worker: TestWorker) => {
  const job = await worker.take();
  await worker.done(job!.id, { output });
};

async function drafted(world: JobWorld): Promise<{ batch_id: string; request_id: string }> {
  const { json } = await world.invoke("POST", "/batch", { body: [{ input: {} }] });
  return { batch_id: json.id, request_id: json.requestIds[0] };
}

async function ended(world: JobWorld, worker: TestWorker, result: object): Promise<string> {
  const id = await world.begun(worker);
  await worker.done(id, result);
  return id;
}

/** Prepares what an operation needs to succeed. Bodies are the document's own examples. */
const prepared: Record<string, Prepare> = {
  runJob: async () => ({}),
  runJobAndWait: async () => ({ meanwhile: answering({ prompt: "hello" }) }),
  getJob: async (world) => ({ ids: { job_id: await world.submit() }, query: "?ttl=1000" }),
  waitForJob: async (world, worker) => ({ ids: { job_id: await ended(world, worker, { output: 1 }) } }),
  cancelJob: async (world) => ({ ids: { job_id: await world.submit() } }),
  retryJob: async (world, worker) => ({ ids: { job_id: await ended(world, worker, { error: "broken" }) } }),
  purgeQueue: async (world) => ({ ids: { job_id: await world.submit() } }),
  streamJob: async (world, worker) => {
    const job_id = await world.begun(worker);
    await worker.chunk(job_id, "hel");
    return { ids: { job_id } };
  },
  getJobOutput: async (world, worker) => ({
    ids: { job_id: await ended(world, worker, { output: [7, "x".repeat(2 * MIB)] }) },
  }),
  listJobs: async (world, worker) => {
    await ended(world, worker, { error: "broken" });
    await world.submit();
    return { query: "?limit=10&offset=0&status=in_queue,FAILED" };
  },
  getJobDetails: async (world) => ({ ids: { job_id: await world.submit() } }),
  getEndpointHealth: async (world) => ({ ids: { job_id: await world.submit() } }),
  getEndpointMetrics: async () => ({}),
  callOpenAi: async () => ({ ids: { path: "v1/chat/completions" }, meanwhile: answering([{ choices: [] }]) }),
  listBatches: async (world) => ({ ids: await drafted(world), query: "?limit=5&offset=0" }),
  createBatch: async () => ({}),
  getBatch: async (world) => ({ ids: await drafted(world) }),
  updateBatch: async (world) => ({ ids: await drafted(world) }),
  listBatchRequests: async (world, worker) => {
    const ids = await drafted(world);
    await world.invoke("POST", `/batch/${ids.batch_id}/finalize`);
    await worker.done((await worker.take())!.id, { output: 1 });
    return { ids };
  },
  addBatchRequests: async (world) => ({ ids: await drafted(world) }),
  removeBatchRequest: async (world) => ({ ids: await drafted(world) }),
  finalizeBatch: async (world) => ({ ids: await drafted(world) }),
  cancelBatch: async (world) => ({ ids: await drafted(world) }),
  takeJob: async (world) => ({ ids: { job_id: await world.submit() } }),
  takeJobs: async (world) => ({ ids: { job_id: await world.submit() }, query: "?batch_size=2" }),
  reportJob: async (world, worker) => ({ ids: { job_id: await world.begun(worker) }, query: "?attempt=1" }),
  reportChunk: async (world, worker) => ({
    ids: { job_id: await world.begun(worker) },
    query: "?attempt=1&sequence=1",
  }),
  awaitStops: async (world, worker) => {
    const job_id = await world.begun(worker);
    await world.invoke("POST", `/cancel/${job_id}`);
    return {};
  },
  pingWorker: async (world, worker) => ({ query: `?job_id=${await world.begun(worker)}&runpod_version=1.12.0` }),
  exchangeJobs: async (world) => ({ ids: { job_id: await world.submit() }, query: "?take=2&wait=1000" }),
};

/** `getJobByPost` is prepared like `getJob`. */
const baseOf = ({ operationId }: DescribedCall) => operationId.replace(/By(Get|Post)$/, "");
const isOfWorker = ({ tags }: DescribedCall) => tags.includes("Worker link");

const exampleOf = ({ requestBody }: DescribedCall) => Object.values(requestBody?.content ?? {})[0]?.example;

const filled = (path: string, ids: Record<string, string>) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? "unknown");

async function ask(world: JobWorld, worker: TestWorker, call: DescribedCall, asked: Asked): Promise<Answer> {
  const { ids = {}, query = "", meanwhile, ...options } = asked;
  const path = filled(call.path, { endpoint_id: world.endpoint, worker_id: worker.id, ...ids });
  const key = isOfWorker(call) ? worker.key : world.key;
  const answer = world.call(call.method, path + query, { key, body: exampleOf(call) as object, ...options });
  await meanwhile?.(worker);
  return answer;
}

test.each(toQueues)("$operationId succeeds as the document says", async (call) => {
  await using world = await setupJobs({ payloadLimits: LIMITS });
  const worker = await world.worker();
  expect(Object.keys(prepared)).toContain(baseOf(call));
  const answer = await ask(world, worker, call, await prepared[baseOf(call)]!(world, worker));
  expect([answer.status, answer.text.slice(0, 300)]).toEqual([200, expect.anything()]);
  answers.expectDescribed(call, answer);
});

test("a worker that finds nothing to do is told so as the document says", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const call = calls.find(({ operationId }) => operationId === "exchangeJobs")!;
  answers.expectDescribed(call, await ask(world, worker, call, { query: "?take=0" }));
});

test("a stretch of an output is as the document says", async () => {
  await using world = await setupJobs({ payloadLimits: LIMITS });
  const worker = await world.worker();
  const call = calls.find(({ operationId }) => operationId === "getJobOutput")!;
  const { ids } = await prepared.getJobOutput!(world, worker);
  const range = (text: string) => ask(world, worker, call, { ids, headers: { range: text } });
  const part = await range("bytes=1-1");
  expect([part.status, part.text]).toEqual([206, "7"]);
  answers.expectDescribed(call, part);
  const beyond = await range(`bytes=${4 * MIB}-`);
  expect(beyond.status).toBe(416);
  answers.expectDescribed(call, beyond);
});

describe("however it is refused", () => {
  const TEXT = "x".repeat(2 * MIB);
  const tooLong: [number, Asked] = [413, { body: { input: { text: TEXT } } }];

  /** Calls that break a rule of their own operation. */
  const own: Record<string, (world: JobWorld) => Promise<[status: number, asked: Asked][]>> = {
    runJob: async () => [[400, { body: { input: 5 } }], tooLong],
    runJobAndWait: async () => [[400, { query: "?wait=5" }], tooLong],
    getJob: async () => [[400, { query: "?ttl=soon" }]],
    waitForJob: async () => [[400, { query: "?wait=5" }]],
    retryJob: async (world) => [[400, { ids: { job_id: await world.submit() } }]],
    streamJob: async () => [[400, { query: "?format=none" }]],
    listJobs: async () => [[400, { query: "?limit=0" }]],
    callOpenAi: async () => [[400, { body: "{" }], tooLong],
    listBatches: async () => [[400, { query: "?limit=0" }]],
    createBatch: async () => [
      [400, { body: {} }],
      [413, { body: [{ input: { text: TEXT } }] }],
    ],
    updateBatch: async (world) => {
      const ids = await drafted(world);
      return [
        [400, { ids, body: {} }],
        [413, { ids, body: { displayName: TEXT } }],
      ];
    },
    listBatchRequests: async (world) => [[400, { ids: await drafted(world), query: "?limit=0" }]],
    addBatchRequests: async (world) => {
      const ids = await drafted(world);
      return [
        [400, { ids, body: [] }],
        [413, { ids, body: [{ input: { text: TEXT } }] }],
      ];
    },
    removeBatchRequest: async (world) => {
      const ids = await drafted(world);
      await world.invoke("POST", `/batch/${ids.batch_id}/finalize`);
      return [[400, { ids }]];
    },
    finalizeBatch: async (world) => {
      const { json } = await world.invoke("POST", "/batch", { body: [] });
      return [[400, { ids: { batch_id: json.id } }]];
    },
    exchangeJobs: async () => [[413, { body: "\n".repeat(10_001) }]],
  };

  /** Other tests cover these statuses, once for all operations. */
  const isShownApart = (status: number) => status >= 500 || [405, 409, 416, 429].includes(status);

  async function refusals(world: JobWorld, call: DescribedCall): Promise<[number, Asked][]> {
    const ofOthers = await world.newKey({ scopes: ["secrets:read"] });
    const always: [number, Asked][] = [
      [401, { key: null }],
      [403, { key: ofOthers }],
      [404, { ids: { endpoint_id: "aaaaaaaaaaaaaa" } }],
    ];
    const broken = (await own[baseOf(call)]?.(world)) ?? [];
    const sendable = broken.filter(([, { body }]) => body === undefined || call.method !== "GET");
    return isOfWorker(call) ? sendable : [...always, ...sendable];
  }

  test.each(toQueues)("$operationId is refused with what it declares", async (call) => {
    await using world = await setupJobs({ payloadLimits: LIMITS });
    const worker = await world.worker();
    const given = await refusals(world, call);
    for (const [status, asked] of given) {
      const answer = await ask(world, worker, call, asked);
      expect([asked.query, answer.status, answer.text.slice(0, 200)]).toEqual([asked.query, status, expect.anything()]);
      answers.expectDescribed(call, answer);
    }
    if (isOfWorker(call) || call.operationId === "callOpenAiByGet") return;
    const seen = given.map(([status]) => status);
    const declared = Object.keys(call.responses).map(Number);
    expect(declared.filter((status) => status >= 400 && !seen.includes(status) && !isShownApart(status))).toEqual([]);
  });

  test("a worker with a wrong key, after a while", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    for (const call of calls.filter(isOfWorker)) {
      const answer = ask(world, worker, call, { key: "wrong" });
      // Two duties also have timers of this length: one removes what deleted things leave, one looks after volumes.
      await world.clock.armed(WRONG_KEY_HOLD_MS, 3);
      await world.clock.advance(WRONG_KEY_HOLD_MS);
      expect((await answer).status).toBe(401);
      answers.expectDescribed(call, await answer);
    }
  });

  test("a method that a path does not have, a key that was used twice, and a limit", async () => {
    await using world = await setupJobs({ invokeLimits: "purge-queue=1" });
    const worker = await world.worker();
    const call = (id: string) => calls.find(({ operationId }) => operationId === id)!;
    answers.expectDescribed(call("runJob"), await world.invoke("PUT", "/run"));
    const headers = { "idempotency-key": "once" };
    await ask(world, worker, call("runJob"), { headers });
    const twice = await ask(world, worker, call("runJob"), { headers, body: { input: { other: true } } });
    expect(twice.status).toBe(409);
    answers.expectDescribed(call("runJob"), twice);
    await ask(world, worker, call("purgeQueue"), {});
    const limited = await ask(world, worker, call("purgeQueue"), {});
    expect(limited.status).toBe(429);
    answers.expectDescribed(call("purgeQueue"), limited);
  });
});

test.each(calls.filter(({ tags }) => tags.includes("Load balancing")))(
  "$operationId reaches a worker of a load-balancing endpoint",
  async (call) => {
    await using world = await setupBalanced();
    world.worker("w1", (request, response) => void response.end(`${request.method} ${request.url}`));
    const path = filled(call.path, { endpoint_id: world.endpoint, path: "a/b" });
    const answer = await world.call(call.method, path);
    expect(answer.text).toBe(`${call.method} /a/b`);
    answers.expectDescribed(call, answer);
    answers.expectDescribed(call, await world.call(call.method, path, { key: null }));
  },
);
