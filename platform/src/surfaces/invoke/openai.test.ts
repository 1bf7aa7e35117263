/** The OpenAI-compatible route: plain and streamed answers, models, errors, and cancelling by hanging up. */
import { expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";

const COMPLETIONS = "/openai/v1/chat/completions";

test("a request becomes a job with its route and body, and the worker's one item is the answer", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const answer = world.invoke("POST", COMPLETIONS, { body: { model: "m", messages: [] } });
  const job = (await worker.take())!;
  expect(job.input).toEqual({ openai_route: "/v1/chat/completions", openai_input: { model: "m", messages: [] } });
  await worker.done(job.id, { output: [{ id: "c1", object: "chat.completion" }] });
  const { status, json } = await answer;
  expect([status, json]).toEqual([200, { id: "c1", object: "chat.completion" }]);
});

test("a long body is read aside and reaches the worker as it came; a broken one is refused", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const text = "é".repeat(200 * 1024);
  const answer = world.invoke("POST", COMPLETIONS, { body: `\ufeff{"text":"${text}", "stream": false}` });
  const job = (await worker.take())!;
  expect(job.input).toEqual({ openai_route: "/v1/chat/completions", openai_input: { text, stream: false } });
  await worker.done(job.id, { output: ["fine"] });
  expect((await answer).json).toBe("fine");
  const { status, json } = await world.invoke("POST", COMPLETIONS, { body: `{"text":"${text}"` });
  expect([status, json.error]).toEqual([400, expect.stringContaining("is not valid JSON")]);
});

test("a GET has no body, and its query stays on the route", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const answer = world.invoke("GET", "/openai/v1/models?limit=2");
  const job = (await worker.take())!;
  expect(job.input).toEqual({ openai_route: "/v1/models?limit=2" });
  await worker.done(job.id, { output: { object: "list", data: [] } });
  expect((await answer).json).toEqual({ object: "list", data: [] });
});

test("event text that the worker yields goes out as it is, each piece when it comes", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const pending = fetch(`${world.url}/v2/${world.endpoint}${COMPLETIONS}`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.key}` },
    body: JSON.stringify({ stream: true }),
  });
  const job = (await worker.take())!;
  await worker.chunk(job.id, 'data: {"n":1}\n\n');
  const response = await pending;
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe('data: {"n":1}\n\n');
  await worker.chunk(job.id, 'data: {"n":2}\n\ndata: [DONE]\n\n');
  expect((await reader.read()).value).toBe('data: {"n":2}\n\ndata: [DONE]\n\n');
  await worker.done(job.id, { output: [] });
  expect((await reader.read()).done).toBe(true);
});

test("objects that an older worker yields become events, and the end is marked", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const answer = world.invoke("POST", COMPLETIONS, { body: { stream: true } });
  const job = (await worker.take())!;
  await worker.chunk(job.id, [{ n: 1 }, { n: 2 }]);
  await worker.done(job.id, { output: [] });
  expect((await answer).text).toBe('data: {"n":1}\n\ndata: {"n":2}\n\ndata: [DONE]\n\n');
});

test("a worker's error is a 500 in the form that OpenAI clients read", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const answer = world.invoke("POST", COMPLETIONS, { body: { model: "m" } });
  await worker.done((await worker.take())!.id, { error: "no such model" });
  const { status, json } = await answer;
  expect([status, json]).toEqual([500, { error: { message: "no such model", type: "worker_error", code: null } }]);
});

test("an error before the first byte of a stream still has its status; one after it is an event", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const early = world.invoke("POST", COMPLETIONS, { body: { stream: true } });
  await worker.done((await worker.take())!.id, { error: "early" });
  expect((await early).status).toBe(500);
  const late = world.invoke("POST", COMPLETIONS, { body: { stream: true } });
  const job = (await worker.take())!;
  await worker.chunk(job.id, "data: {}\n\n");
  await worker.done(job.id, { error: "late" });
  const { status, text } = await late;
  expect(status).toBe(200);
  expect(text).toContain('"message":"late"');
});

test("a client that hangs up cancels its job", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  const hangUp = new AbortController();
  const pending = fetch(`${world.url}/v2/${world.endpoint}${COMPLETIONS}`, {
    method: "POST",
    headers: { authorization: world.key },
    body: "{}",
    signal: hangUp.signal,
  }).catch(() => undefined);
  const job = (await worker.take())!;
  hangUp.abort();
  await pending;
  const { json } = await world.invoke("GET", `/status-sync/${job.id}`);
  expect(json.status).toBe("CANCELLED");
});

test("a server that ends says so to whoever waits for a stream, and the job goes on", async () => {
  const world = await setupJobs();
  const answer = world.invoke("POST", COMPLETIONS, { body: { stream: true } });
  await world.clock.armed(15_000);
  await world[Symbol.asyncDispose]();
  const { status, json } = await answer;
  expect([status, json.error.message]).toEqual([503, "the server is shutting down; the job continues"]);
  expect(await world.queue.counts(world.endpoint)).toMatchObject({ inQueue: 1 });
});
