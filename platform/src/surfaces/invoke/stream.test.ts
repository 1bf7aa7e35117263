/** `/stream`: the specification's array, the object of public clients, and server-sent events that resume. */
import { expect, test } from "vitest";
import { eventsOf, type JobWorld, setupJobs } from "../../../tests/job-world.ts";

/** A running job that has streamed these outputs. */
async function streaming(world: JobWorld, ...outputs: unknown[]) {
  const worker = await world.worker();
  const id = await world.submit({ prompt: "a" });
  await worker.take();
  for (const output of outputs) await worker.chunk(id, output);
  return { worker, id };
}

/** Reads as the specification does, with the bare key. */
const read = (world: JobWorld, id: string, query = "") =>
  world.invoke("GET", `/stream/${id}${query}`, { headers: { authorization: world.key } });

const outputsOf = (chunks: { output: unknown }[]) => chunks.map(({ output }) => output);

async function openEvents(world: JobWorld, id: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${world.url}/v2/${world.endpoint}/stream/${id}`, {
    headers: { authorization: world.key, accept: "text/event-stream", ...headers },
  });
}

test("chunks come as an array of output and metrics, with the job's status in a header", async () => {
  await using world = await setupJobs();
  const { id } = await streaming(world, { text: ["a"], input_tokens: 3, output_tokens: 1 }, "b");
  const { status, headers, json } = await read(world, id);
  expect([status, headers.get("x-job-status")]).toEqual([200, "IN_PROGRESS"]);
  expect(json).toEqual([
    {
      output: { text: ["a"], input_tokens: 3, output_tokens: 1 },
      metrics: { scenario: "stream", stream_index: 1, input_tokens: 3, output_tokens: 1 },
    },
    { output: "b", metrics: { scenario: "stream", stream_index: 2 } },
  ]);
});

test("what one answer has given, no later one gives again, whatever its form", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, 1, 2);
  expect(outputsOf((await read(world, id)).json)).toEqual([1, 2]);
  await worker.chunk(id, 3);
  expect(outputsOf((await world.invoke("POST", `/stream/${id}`)).json.stream)).toEqual([3]);
  await worker.done(id, { output: [] });
  expect((await read(world, id)).json).toEqual([]);
});

test("of many readers at once, each chunk goes to one", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  const readers = Array.from({ length: 5 }, () => read(world, id));
  await worker.chunk(id, 1);
  await worker.chunk(id, 2);
  await worker.done(id, { output: [] });
  const given = (await Promise.all(readers)).flatMap(({ json }) => outputsOf(json));
  const rest = outputsOf((await read(world, id)).json);
  expect([...given, ...rest].sort()).toEqual([1, 2]);
});

test("'from' reads again what was given before, without moving the place of others", async () => {
  await using world = await setupJobs();
  const { id } = await streaming(world, 1, 2, 3);
  expect(outputsOf((await read(world, id, "?from=1.1")).json)).toEqual([2, 3]);
  expect(outputsOf((await read(world, id)).json)).toEqual([1, 2, 3]);
  expect(outputsOf((await read(world, id, "?from=0.0")).json)).toEqual([1, 2, 3]);
});

test.each([
  ["format", "GET", "?format=object", {}],
  ["POST", "POST", "", {}],
  ["wait", "GET", "?wait=1000", {}],
])("%s asks for the object form, whatever the scheme", async (_why, method, query) => {
  await using world = await setupJobs();
  const { id } = await streaming(world, 1);
  const { headers, json } = await world.invoke(method, `/stream/${id}${query}`, {
    headers: { authorization: world.key, accept: "text/event-stream" },
  });
  expect(json).toMatchObject({ status: "IN_PROGRESS", stream: [{ output: 1 }] });
  expect(headers.get("x-job-status")).toBe("IN_PROGRESS");
});

test.each([
  ["auto", "", "array"],
  ["auto", "Bearer ", "object"],
  ["auto", "bearer  ", "object"],
  ["array", "Bearer ", "array"],
  ["object", "", "object"],
] as const)("with MILLRACE_STREAM=%s, a key sent as '%s<key>' reads the %s", async (streamSetting, scheme, form) => {
  await using world = await setupJobs({ stream: streamSetting });
  const { id } = await streaming(world, 1);
  const { json } = await world.invoke("GET", `/stream/${id}`, { headers: { authorization: scheme + world.key } });
  expect(Array.isArray(json) ? "array" : "object").toBe(form);
});

test("public clients say nothing of themselves: who they are decides nothing", async () => {
  await using world = await setupJobs();
  const { id } = await streaming(world, 1);
  const headers = { authorization: world.key, "user-agent": "RunPod-JS-SDK/1.1.2 (linux)" };
  expect(outputsOf((await world.invoke("GET", `/stream/${id}`, { headers })).json)).toEqual([1]);
});

test("an end is said with the last chunks, not before: clients stop at the first state that is final", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  for (let i = 1; i <= 201; i++) await worker.chunk(id, i);
  await worker.done(id, { error: "out of paper" });
  const first = await world.invoke("GET", `/stream/${id}`);
  expect([first.json.status, first.headers.get("x-job-status")]).toEqual(["IN_PROGRESS", "IN_PROGRESS"]);
  expect(first.json.stream).toHaveLength(200);
  expect(first.json).not.toHaveProperty("error");
  const second = await world.invoke("GET", `/stream/${id}`);
  expect(second.json).toMatchObject({ status: "FAILED", stream: [{ output: 201 }], error: "out of paper" });
  expect(second.headers.get("x-job-status")).toBe("FAILED");
});

test("an answer has as many long chunks as fit, and the end comes with the last of them", async () => {
  await using world = await setupJobs();
  const outputs = [..."abcdef"].map((letter) => letter.repeat(900_000));
  const { id, worker } = await streaming(world, ...outputs);
  await worker.done(id, { output: [] });
  const first = await world.invoke("GET", `/stream/${id}`);
  expect([first.json.status, outputsOf(first.json.stream)]).toEqual(["IN_PROGRESS", outputs.slice(0, 4)]);
  const second = await world.invoke("GET", `/stream/${id}`);
  expect([second.json.status, outputsOf(second.json.stream)]).toEqual(["COMPLETED", outputs.slice(4)]);
});

test("a long output of a handler that streamed nothing comes in several answers, and once", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  const output = "ab".repeat(4_500_000);
  await worker.done(id, { output });
  const given: string[] = [];
  const states: string[] = [];
  for (let i = 0; i < 4; i++) {
    const { json } = await world.invoke("GET", `/stream/${id}`);
    states.push(json.status);
    given.push(outputsOf(json.stream).join(""));
  }
  expect(given.map((text) => text.length <= 4 * 1024 * 1024)).toEqual([true, true, true, true]);
  expect(given.join("") === output).toBe(true);
  expect(states).toEqual(["IN_PROGRESS", "IN_PROGRESS", "COMPLETED", "COMPLETED"]);
});

test("what stands beside an output is no way around the length of chunks", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  await worker.ask("POST job-stream", { job: id, body: JSON.stringify({ output: 1, metrics: "x".repeat(2_500_000) }) });
  const { json } = await world.invoke("GET", `/stream/${id}`);
  expect(json.stream.length).toBe(3);
});

test("an explicit format wins over everything else", async () => {
  await using world = await setupJobs();
  const { id } = await streaming(world, 1);
  const { json } = await world.invoke("POST", `/stream/${id}?format=array&wait=1000`);
  expect(outputsOf(json)).toEqual([1]);
});

test("an empty stream is held until a chunk comes", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  const answer = read(world, id);
  await worker.chunk(id, "late");
  expect(outputsOf((await answer).json)).toEqual(["late"]);
});

test("a handler that streams nothing gives its whole output as one chunk, once", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  await worker.done(id, { output: { answer: 42 } });
  expect(outputsOf((await read(world, id)).json)).toEqual([{ answer: 42 }]);
  expect((await read(world, id)).json).toEqual([]);
});

test("ask 9: a failure in mid stream comes with the object that says FAILED, chunks left or not", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, 1);
  await worker.done(id, { error: "out of memory" });
  const answers = [await world.invoke("GET", `/stream/${id}`), await world.invoke("GET", `/stream/${id}`)];
  expect(answers.map(({ json }) => json)).toEqual([
    {
      status: "FAILED",
      stream: [{ output: 1, metrics: { scenario: "stream", stream_index: 1 } }],
      error: "out of memory",
    },
    { status: "FAILED", stream: [], error: "out of memory" },
  ]);
});

test("ask 9: a failure is the last item of the array, once, with the keys that every item has", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, 1);
  await worker.done(id, { error: "out of memory" });
  const failure = {
    output: null,
    error: "out of memory",
    status: "FAILED",
    metrics: { scenario: "stream", stream_index: 2 },
  };
  const first = await read(world, id);
  expect(first.headers.get("x-job-status")).toBe("FAILED");
  expect(first.json).toEqual([{ output: 1, metrics: { scenario: "stream", stream_index: 1 } }, failure]);
  expect((await read(world, id)).json).toEqual([]);
  expect((await read(world, id, "?from=1.1")).json).toEqual([failure]);
  expect((await read(world, id, "?from=1.2")).json).toEqual([]);
});

test("ask 9: a job that failed before its first chunk says so in the array too, once", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  await worker.done(id, { error: "no model" });
  expect((await read(world, id)).json).toMatchObject([{ output: null, error: "no model", status: "FAILED" }]);
  expect((await read(world, id)).json).toEqual([]);
});

test("a failure that one form has given is not given again by the other's array", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, 1);
  await worker.done(id, { error: "no model" });
  await world.invoke("GET", `/stream/${id}?format=object`);
  expect((await read(world, id)).json).toEqual([]);
  expect((await world.invoke("GET", `/stream/${id}?format=object`)).json).toMatchObject({ error: "no model" });
});

test("a cancelled job has no error: its state alone says that the stream is over", async () => {
  await using world = await setupJobs();
  const { id } = await streaming(world, 1);
  await world.invoke("POST", `/cancel/${id}`);
  const { headers, json } = await read(world, id);
  expect([headers.get("x-job-status"), outputsOf(json)]).toEqual(["CANCELLED", [1]]);
});

test("ask 9: events end with the record, which carries the error", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, "a");
  const events = eventsOf(await openEvents(world, id));
  expect((await events.next()).value).toMatchObject({ id: "1.1" });
  await worker.done(id, { error: "out of memory" });
  const { value } = await events.next();
  expect(value).toMatchObject({ event: "end" });
  expect(JSON.parse(value!.data)).toMatchObject({ id, status: "FAILED", error: "out of memory" });
});

test("a server that ends lets readers go: with what there is, and events to be resumed elsewhere", async () => {
  const world = await setupJobs();
  const { id } = await streaming(world, 1);
  const events = await fetch(`${world.url}/v2/${world.endpoint}/stream/${id}`, {
    headers: { authorization: `Bearer ${world.key}`, accept: "text/event-stream" },
  });
  const answer = world.invoke("GET", `/stream/${id}?from=1.1&wait=200000`);
  await Promise.all([world.clock.armed(200_000), world.clock.armed(15_000)]);
  await world[Symbol.asyncDispose]();
  expect((await answer).json).toEqual({ status: "IN_PROGRESS", stream: [] });
  expect(await events.text()).toMatch(/^id: 1\.1\n/);
});

test("output over 1 MB is split over several chunks, and none of it is lost", async () => {
  await using world = await setupJobs();
  const long = "ä\n".repeat(600_000);
  const list = Array.from({ length: 150_000 }, (_, i) => `item ${i}`);
  const { id } = await streaming(world, long, list);
  // The outputs do not fit into one answer.
  const outputs = outputsOf([...(await read(world, id)).json, ...(await read(world, id)).json]) as string[];
  for (const output of outputs) expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(1_048_576);
  const joined = outputs.join("");
  expect(joined.slice(0, long.length)).toBe(long);
  expect(JSON.parse(joined.slice(long.length))).toEqual(list);
});

test("events carry every chunk with its id and end with the record", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, "a");
  const response = await openEvents(world, id);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const events = eventsOf(response);
  expect((await events.next()).value).toMatchObject({ id: "1.1" });
  await worker.chunk(id, "b");
  expect((await events.next()).value).toMatchObject({ id: "1.2" });
  await worker.done(id, { output: ["a", "b"] });
  const { value } = await events.next();
  expect(value).toMatchObject({ event: "end" });
  expect(JSON.parse(value!.data)).toMatchObject({ id, status: "COMPLETED", output: ["a", "b"] });
  expect((await events.next()).done).toBe(true);
});

test("a reader that is cut off ten times in one stream sees every chunk once", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world);
  const seen: string[] = [];
  let last: string | undefined;
  for (let round = 1; round <= 10; round++) {
    await worker.chunk(id, `chunk ${round}`);
    const response = await openEvents(world, id, last ? { "last-event-id": last } : {});
    for await (const event of eventsOf(response)) {
      seen.push(JSON.parse(event.data).output);
      last = event.id;
      break;
    }
  }
  expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => `chunk ${i + 1}`));
});

test("a worker lost in mid stream: readers see reset and then the new attempt, never a mixture", async () => {
  await using world = await setupJobs();
  const { id } = await streaming(world, "old 1", "old 2");
  const events = eventsOf(await openEvents(world, id));
  expect((await events.next()).value).toMatchObject({ id: "1.1" });
  expect((await events.next()).value).toMatchObject({ id: "1.2" });
  await world.clock.advance(31_000);
  const second = await world.worker();
  expect((await second.take())?.id).toBe(id);
  await second.chunk(id, "new 1");
  expect((await events.next()).value).toMatchObject({ event: "reset" });
  expect((await events.next()).value).toMatchObject({ id: "2.1", data: expect.stringContaining("new 1") });
  await second.done(id, { output: [] });
  expect((await events.next()).value).toMatchObject({ event: "end" });
});

test("a retried job streams anew for readers of arrays too", async () => {
  await using world = await setupJobs();
  const { id, worker } = await streaming(world, "old");
  await read(world, id);
  await worker.done(id, { error: "no" });
  await world.invoke("POST", `/retry/${id}`);
  expect((await worker.take())?.id).toBe(id);
  await worker.chunk(id, "new");
  expect(outputsOf((await read(world, id)).json)).toEqual(["new"]);
});

test.each([
  ["?wait=999", "'wait' must be an integer from 1000 to 300000 (milliseconds)"],
  ["?from=x", "a position in a stream is '<attempt>.<sequence>', such as 1.12, not 'x'"],
  ["?format=xml", "'format' must be array, object or events"],
])("400 for %s", async (query, error) => {
  await using world = await setupJobs();
  const { id } = await streaming(world);
  const { status, json } = await world.invoke("GET", `/stream/${id}${query}`);
  expect([status, json.error]).toEqual([400, error]);
});
