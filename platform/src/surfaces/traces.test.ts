/** A trace follows a job from the request through the queue into the worker and back, and costs nothing when nobody asked for it. */
import { expect, test } from "vitest";
import { setupJobs } from "../../tests/job-world.ts";
import { FakeClock } from "../kernel/clock.ts";
import { SeededRandom } from "../kernel/random.ts";
import { handedTraceparent, readTraceparent, runSpanId } from "../kernel/traceparent.ts";
import { type Span, Tracing } from "../kernel/tracing.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLERS = `00-${TRACE}-b7ad6b7169203331-01`;
const UNSAMPLED = `00-${TRACE}-b7ad6b7169203331-00`;

function recording(share = 1) {
  const spans: Span[] = [];
  const sink = { add: (span: Span) => void spans.push(span) };
  return { spans, tracing: new Tracing({ sink, clock: new FakeClock(), random: new SeededRandom(3), share }) };
}

test("without a collector, the caller's traceparent reaches the handler unchanged, and no job has one by itself", async () => {
  await using world = await setupJobs();
  const worker = await world.worker();
  await world.invoke("POST", "/run", { body: { input: {} }, headers: { traceparent: CALLERS } });
  await world.invoke("POST", "/run", { body: { input: {} } });
  const [first, second] = [await worker.take(), await worker.take()];
  expect(first).toMatchObject({ traceparent: handedTraceparent(CALLERS, first!.id, 1) });
  expect(second).not.toHaveProperty("traceparent");
});

test("one trace has the request, the wait and the run, each below the one before, and the handler continues it", async () => {
  const { spans, tracing } = recording();
  await using world = await setupJobs({ tracing });
  const worker = await world.worker();
  await world.invoke("POST", "/run", { body: { input: {} }, headers: { traceparent: CALLERS } });
  const taken = await worker.take();
  await worker.done(taken!.id, { output: 1 });
  const [request, wait, run] = ["POST /v2/{endpoint_id}/run", "wait for a worker", "run job"].map((name) =>
    spans.find((span) => span.name === name),
  );
  expect(new Set([request, wait, run].map((span) => span!.traceId))).toEqual(new Set([TRACE]));
  expect(request).toMatchObject({ parentId: "b7ad6b7169203331", attributes: { "http.response.status_code": 200 } });
  expect([wait!.parentId, run!.parentId]).toEqual([request!.spanId, request!.spanId]);
  expect(run!.attributes).toMatchObject({ "millrace.job.id": taken!.id, "millrace.job.state": "COMPLETED" });
  expect(readTraceparent((taken as { traceparent?: string }).traceparent)).toEqual({
    traceId: TRACE,
    spanId: run!.spanId,
    isSampled: true,
  });
});

test("a caller who does not record its trace gets no spans, and the handler hears of that too", async () => {
  const { spans, tracing } = recording();
  await using world = await setupJobs({ tracing });
  const worker = await world.worker();
  await world.invoke("POST", "/run", { body: { input: {} }, headers: { traceparent: UNSAMPLED } });
  expect(await worker.take()).toMatchObject({ traceparent: UNSAMPLED });
  expect(spans.filter(({ traceId }) => traceId === TRACE)).toEqual([]);
});

test("traces that begin here are recorded in the share that the operator chose", () => {
  const { tracing } = recording(0.25);
  const begun = Array.from({ length: 1000 }, () => tracing.begin(undefined)).filter((one) => one !== undefined);
  expect(begun.length).toBeGreaterThan(200);
  expect(begun.length).toBeLessThan(300);
  expect(recording(0).tracing.begin(undefined)).toBeUndefined();
  expect(recording(0).tracing.begin(CALLERS)).toBeDefined();
});

test("a failed job's span says so, and a job that no worker took has a wait alone", () => {
  const { spans, tracing } = recording();
  const job = { id: "j", endpoint: "e", attempt: 2, trace: CALLERS, queuedAt: 1000 };
  tracing.jobEnded({ ...job, state: "FAILED", startedAt: 2000, endedAt: 3000, error: "boom" });
  expect(spans.map(({ name, from, to, error }) => [name, from, to, error])).toEqual([
    ["wait for a worker", 1000, 2000, undefined],
    ["run job", 2000, 3000, "boom"],
  ]);
  expect(spans[1]!.spanId).toBe(runSpanId("j", 2));
  tracing.jobEnded({ ...job, attempt: 0, state: "TIMED_OUT", endedAt: 3000, reason: "too late" });
  expect(spans.slice(2).map(({ name, error }) => [name, error])).toEqual([["wait for a worker", "too late"]]);
});

test.each([
  ["", "00-", `ff-${TRACE}-b7ad6b7169203331-01`, `00-${"0".repeat(32)}-b7ad6b7169203331-01`],
  [
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-b7ad6b7169203331-01-more`,
    `00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`,
  ],
  [`cc-${TRACE}-b7ad6b7169203331-01-${"x".repeat(200)}`, '00-"}{"', "00-a\r\nb"],
])("a traceparent that is not valid counts as absent: %s", (...texts) => {
  for (const text of texts) expect(readTraceparent(text)).toBeUndefined();
  expect(readTraceparent([CALLERS])).toBeUndefined();
});

test("a later version with more at its end is read", () => {
  expect(readTraceparent(`01-${TRACE}-b7ad6b7169203331-01-more`)).toMatchObject({ traceId: TRACE, isSampled: true });
});
