/** Results from workers: every shape is accepted, none is refused, and only the first one counts. */
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { type JobWorld, setupJobs, type TestWorker } from "../../../tests/job-world.ts";

const MIB = 1024 * 1024;
const STALL_MS = 15_000;

async function running(rest: object = {}, payloadLimits?: string) {
  const world = await setupJobs({ payloadLimits });
  const worker = await world.worker();
  const id = await world.begun(worker, {}, rest);
  return { world, worker, id, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

/** Posts like the public worker package: JSON text with the content type of a form. */
const post = (worker: TestWorker, job: string, body: string | Uint8Array, query = "&isStream=false") =>
  worker.ask("POST job-done", {
    job,
    query,
    body,
    headers: { "content-type": "application/x-www-form-urlencoded", charset: "utf-8" },
  });

const shown = async ({ world, id }: { world: JobWorld; id: string }) => {
  const { status, output, error } = await world.status(id);
  return { status, output, error };
};

const errorText = JSON.stringify({ error_type: "<class 'ValueError'>", error_message: "no", hostname: "h" });

test.each([
  ["any value", '{"output":7}', { status: "COMPLETED", output: 7 }],
  ["false", '{"output":false}', { status: "COMPLETED", output: false }],
  ["an empty text", '{"output":""}', { status: "COMPLETED", output: "" }],
  ["an object", '{"output":{"a":[1,{"b":null}]}}', { status: "COMPLETED", output: { a: [1, { b: null }] } }],
  ["white space around it", ' \n{ "output" : 1 }\n ', { status: "COMPLETED", output: 1 }],
  ["any script, unescaped", '{"output":"水車 🌊"}', { status: "COMPLETED", output: "水車 🌊" }],
  ["escapes", '{"output":"\\u0000\\ud800"}', { status: "COMPLETED", output: "\u0000\ud800" }],
  ["nothing at all", "{}", { status: "COMPLETED" }],
  ["None", '{"output":null}', { status: "COMPLETED" }],
  ["an empty error", '{"output":1,"error":""}', { status: "COMPLETED", output: 1 }],
  ["a null error", '{"output":1,"error":null}', { status: "COMPLETED", output: 1 }],
  ["stopPod", '{"output":1,"stopPod":true}', { status: "COMPLETED", output: 1 }],
  ["stopPod alone", '{"stopPod":true}', { status: "COMPLETED" }],
  ["a generator without aggregate", '{"output":[]}', { status: "COMPLETED", output: [] }],
  ["a generator with aggregate", '{"output":["a","b"]}', { status: "COMPLETED", output: ["a", "b"] }],
  ["an error", '{"error":"broken"}', { status: "FAILED", error: "broken" }],
  ["an exception", JSON.stringify({ error: errorText }), { status: "FAILED", error: errorText }],
  ["an error beside output", '{"output":{"h":1},"error":"e"}', { status: "FAILED", output: { h: 1 }, error: "e" }],
  ["an error as an object", '{"error":{"code":5}}', { status: "FAILED", error: '{"code":5}' }],
  ["an error as a list", '{"error":["a"]}', { status: "FAILED", error: '["a"]' }],
  ["an error as a number", '{"error":5}', { status: "FAILED", error: "5" }],
  ["an error and stopPod", '{"error":"e","stopPod":true}', { status: "FAILED", error: "e" }],
])("%s", async (_what, body, expected) => {
  await using at = await running();
  const { status, headers } = await post(at.worker, at.id, body);
  expect([status, headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
  expect(await shown(at)).toEqual({ output: undefined, error: undefined, ...expected });
});

describe("a result that cannot be kept is a failed job, never a refused post:", () => {
  test.each([
    ["broken JSON", '{"output":', "the worker's result is not valid JSON; it begins: "],
    ["nothing", "", "the worker's result is not valid JSON; it begins: "],
    ["a form", "output=1", "the worker's result is not valid JSON; it begins: output=1"],
    ["NaN, as Python writes it", '{"output":NaN}', "the worker's result is not valid JSON"],
    ["a list", "[1]", "the worker's result is not a JSON object; it begins: [1]"],
    ["a text", '"done"', "the worker's result is not a JSON object"],
    ["null", "null", "the worker's result is not a JSON object"],
  ])("%s", async (_what, body, error) => {
    await using at = await running();
    expect((await post(at.worker, at.id, body)).status).toBe(200);
    expect(await shown(at)).toEqual({ status: "FAILED", error: expect.stringContaining(error) });
  });

  test("15 MB is kept", async () => {
    await using at = await running();
    const output = "x".repeat(15 * MIB);
    expect((await post(at.worker, at.id, JSON.stringify({ output }))).status).toBe(200);
    expect((await at.world.status(at.id)).output).toHaveLength(15 * MIB);
  });

  test("20 MB is kept, one byte more is too much where nothing is kept apart", async () => {
    for (const [bytes, expected] of [
      [20 * MIB, { status: "COMPLETED", output: expect.any(String) }],
      [20 * MIB + 1, { status: "FAILED", error: "the output exceeds 20 MB" }],
    ] as const) {
      await using at = await running({}, "10,20,20,0");
      const body = Buffer.alloc(bytes, "x");
      body.write('{"output":"');
      body.write('"}', bytes - 2);
      expect((await post(at.worker, at.id, body)).status).toBe(200);
      expect(await shown(at)).toEqual(expected);
    }
  });

  test("a large result that is not JSON", async () => {
    await using at = await running();
    expect((await post(at.worker, at.id, `{"output":${"[".repeat(300_000)}`)).status).toBe(200);
    expect(await shown(at)).toEqual({ status: "FAILED", error: expect.stringContaining("not valid JSON") });
  });

  test("a large error keeps its text", async () => {
    await using at = await running();
    const error = "e".repeat(400_000);
    await post(at.worker, at.id, JSON.stringify({ output: { a: 1 }, error }));
    expect(await shown(at)).toEqual({ status: "FAILED", output: { a: 1 }, error });
  });

  test("one that stalls half way is 503, so that it is sent again", async () => {
    await using at = await running();
    const path = `/v2/${at.world.endpoint}/job-done/${at.worker.id}/${at.id}`;
    const answer = at.world.raw(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${at.worker.key}\r\nContent-Length: 99\r\n\r\n{"outp`,
    );
    await at.world.clock.armed(STALL_MS);
    await at.world.clock.advance(2 * STALL_MS);
    expect(await answer).toMatch(/^HTTP\/1\.1 503 /);
    await at.worker.ping([at.id]);
    await post(at.worker, at.id, '{"output":1}');
    expect((await shown(at)).status).toBe("COMPLETED");
  });

  test("one whose connection breaks leaves the job running", async () => {
    await using at = await running();
    const path = `/v2/${at.world.endpoint}/job-done/${at.worker.id}/${at.id}`;
    const socket = connect(Number(new URL(at.world.url).port), "127.0.0.1");
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${at.worker.key}\r\nContent-Length: 99\r\n\r\n{`);
    await at.world.clock.armed(STALL_MS);
    socket.destroy();
    await at.world.clock.disarmed(STALL_MS);
    expect((await shown(at)).status).toBe("IN_PROGRESS");
  });
});

describe("reports that come late, twice or from elsewhere get 200 and change nothing:", () => {
  test("a second result, whatever it says", async () => {
    await using at = await running();
    await post(at.worker, at.id, '{"output":"first"}');
    for (const body of ['{"output":"second"}', '{"error":"second"}', "{}", "broken"])
      expect((await post(at.worker, at.id, body)).status).toBe(200);
    expect(await shown(at)).toEqual({ status: "COMPLETED", output: "first" });
    expect((await at.world.invoke("GET", "/health")).json.jobs).toMatchObject({ completed: 1, failed: 0 });
  });

  test("progress that overtakes or follows the result", async () => {
    await using at = await running();
    await Promise.all([
      post(at.worker, at.id, '{"status":"IN_PROGRESS","output":50}'),
      post(at.worker, at.id, '{"output":"done"}'),
      post(at.worker, at.id, '{"status":"IN_PROGRESS","output":99}'),
    ]);
    await post(at.worker, at.id, '{"status":"IN_PROGRESS","output":100}');
    expect(await shown(at)).toEqual({ status: "COMPLETED", output: "done" });
  });

  test("a result of a worker that does not hold the job, while another does", async () => {
    await using at = await running();
    const other = await at.world.worker();
    expect((await post(other, at.id, '{"output":"foreign"}')).status).toBe(200);
    expect((await post(other, at.id, '{"status":"IN_PROGRESS","output":1}')).status).toBe(200);
    expect(await shown(at)).toEqual({ status: "IN_PROGRESS" });
    await post(at.worker, at.id, '{"output":"own"}');
    expect(await shown(at)).toEqual({ status: "COMPLETED", output: "own" });
  });

  test("a result for a job that does not exist, or was purged", async () => {
    await using world = await setupJobs();
    const worker = await world.worker();
    const purged = await world.submit();
    await world.invoke("POST", "/purge-queue");
    for (const id of ["nothing", purged]) expect((await post(worker, id, '{"output":1}')).status).toBe(200);
    expect((await world.invoke("GET", `/status/${purged}`)).status).toBe(404);
  });

  test("the result of a run before /retry, from the worker that failed it", async () => {
    await using at = await running();
    await post(at.worker, at.id, '{"error":"x"}');
    await at.world.invoke("POST", `/retry/${at.id}`);
    expect((await post(at.worker, at.id, '{"output":"of the first run"}')).status).toBe(200);
    expect((await shown(at)).status).toBe("IN_QUEUE");
  });
});

test("a finish for a job that nobody holds is accepted: the work is done", async () => {
  await using at = await running();
  await at.world.clock.advance(31_000);
  expect((await shown(at)).status).toBe("IN_QUEUE");
  expect((await post(at.worker, at.id, '{"output":"late but welcome"}')).status).toBe(200);
  expect(await shown(at)).toEqual({ status: "COMPLETED", output: "late but welcome" });
  const other = await at.world.worker();
  const next = await at.world.submit();
  expect((await other.take())!.id).toBe(next);
});

describe("retries of a handler's error", () => {
  test("fail at once without a policy", async () => {
    await using at = await running();
    await post(at.worker, at.id, '{"error":"x"}');
    expect((await shown(at)).status).toBe("FAILED");
  });

  test("policy.retries tries it again that often, on the same worker too, and then fails with the last error", async () => {
    await using at = await running({ policy: { retries: 2 } });
    await at.worker.ping([at.id]);
    for (const run of [1, 2]) {
      await post(at.worker, at.id, JSON.stringify({ error: `run ${run}` }));
      expect((await shown(at)).status).toBe("IN_QUEUE");
      expect((await at.worker.take())!.id).toBe(at.id);
    }
    await post(at.worker, at.id, '{"error":"run 3"}');
    expect(await at.world.status(at.id)).toMatchObject({ status: "FAILED", error: "run 3", retries: 2 });
    expect((await at.world.invoke("GET", "/health")).json.jobs).toMatchObject({ failed: 1, retried: 2 });
  });

  test("a retried run that succeeds shows nothing of the error before", async () => {
    await using at = await running({ policy: { retries: 1 } });
    await post(at.worker, at.id, '{"error":"x","output":"half"}');
    await at.worker.take();
    await post(at.worker, at.id, '{"output":"whole"}');
    expect(await shown(at)).toEqual({ status: "COMPLETED", output: "whole" });
  });

  test("/retry gives a fresh budget", async () => {
    await using at = await running({ policy: { retries: 1 } });
    await post(at.worker, at.id, '{"error":"1"}');
    await at.worker.take();
    await post(at.worker, at.id, '{"error":"2"}');
    await at.world.invoke("POST", `/retry/${at.id}`);
    const worker = await at.world.worker();
    await worker.take();
    await post(worker, at.id, '{"error":"3"}');
    expect((await shown(at)).status).toBe("IN_QUEUE");
  });
});

test.each([['{"output":"chunk"}'], ["broken"], [""]])("job-stream takes %j and answers 200", async (body) => {
  await using at = await running();
  const { status } = await at.worker.ask("POST job-stream", { job: at.id, body });
  expect(status).toBe(200);
});

test("a chunk that is sent again under its number is kept once; numbers that make no sense are as if not sent", async () => {
  await using at = await running();
  const chunk = (output: string, query: string) =>
    at.worker.ask("POST job-stream", { job: at.id, query, body: { output } });
  for (const [output, query] of [
    ["a", "&attempt=1&sequence=1"],
    ["a", "&attempt=1&sequence=1"],
    ["b", "&attempt=1&sequence=2"],
    ["stale", "&attempt=2&sequence=3"],
    ["c", "&sequence=2"],
    ["d", "&attempt=x&sequence=-1"],
  ] as const)
    expect((await chunk(output, query)).status).toBe(200);
  const chunks = await at.world.queue.chunks(at.id, { attempt: 0, sequence: 0 }, 10);
  expect(chunks.map(({ text }) => JSON.parse(text).output)).toEqual(["a", "b", "c", "d"]);
});

test("a result that names another attempt than the one the worker has changes nothing", async () => {
  await using at = await running();
  expect((await post(at.worker, at.id, '{"output":"old"}', "&attempt=2")).status).toBe(200);
  expect((await shown(at)).status).toBe("IN_PROGRESS");
  await post(at.worker, at.id, '{"output":"new"}', "&attempt=1");
  expect(await shown(at)).toEqual({ status: "COMPLETED", output: "new" });
});

test("chunks stay in their order, and those of a job that the worker does not hold are dropped", async () => {
  await using at = await running();
  for (const output of ["a", "b", "c"]) await at.worker.chunk(at.id, output);
  await (await at.world.worker()).chunk(at.id, "foreign");
  await at.worker.done(at.id, { output: [] });
  await at.worker.chunk(at.id, "late");
  const chunks = await at.world.queue.chunks(at.id, { attempt: 0, sequence: 0 }, 10);
  expect(chunks.map(({ text }) => JSON.parse(text).output)).toEqual(["a", "b", "c"]);
});
