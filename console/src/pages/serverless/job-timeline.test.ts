/** The timeline of a job. */
import { expect, test } from "vitest";
import { errorText, shortError, timelineOf } from "./job-timeline.ts";
import type { Details, Job } from "./jobs-api.ts";

const at = (seconds: number) => new Date(seconds * 1000).toISOString();

function timeline(job: Partial<Job>, details: Partial<Details> = {}, chunks = 0) {
  const shared = { id: "j", status: "IN_QUEUE", ...job } as Job;
  const asked = { ...shared, createdAt: at(0), queuedAt: at(0), attempts: 0, actions: [], ...details } as Details;
  return timelineOf({ job: shared, details: asked, chunks, now: 100_000 });
}
const titles = (...asked: Parameters<typeof timeline>) => timeline(...asked).map(({ title }) => title);

test("a waiting job says for how long and for what", () => {
  const [, waits] = timeline({ waitReason: "all 3 workers busy (max 3)", waitReasonCode: "workers-busy" });
  expect(waits).toMatchObject({
    title: "Waits",
    ms: 100_000,
    text: "all 3 workers busy (max 3)",
    code: "workers-busy",
  });
});

test("a running job names its worker, how long it waited and how long it runs", () => {
  const shown = timeline(
    { status: "IN_PROGRESS", workerId: "w1", output: { done: 1 } },
    { startedAt: at(4), attempts: 1 },
  );
  expect(shown.map(({ title, ms }) => [title, ms])).toEqual([
    ["Submitted", undefined],
    ["Waited", 4000],
    ["Taken by a worker", undefined],
    ["Runs, with progress", 96_000],
  ]);
  expect(shown[2]!.worker).toBe("w1");
});

test("an ended job tells its chunks, its end, its webhooks, and until when it is kept", () => {
  const job = {
    status: "COMPLETED",
    webhookDeliveries: [
      { url: "https://a", at: at(11), error: "connection refused" },
      { url: "https://a", at: at(21), status: 200 },
    ],
  } as Partial<Job>;
  const details = { startedAt: at(4), completedAt: at(10), keptUntil: at(1000), attempts: 1 };
  expect(titles(job, details, 3)).toEqual([
    "Submitted",
    "Waited",
    "Taken by a worker",
    "3 chunks streamed",
    "Completed",
    "Webhook not delivered",
    "Webhook delivered",
    "The result is kept until",
  ]);
});

test("a job that lost its worker says why it is back in the queue", () => {
  const details = {
    queuedAt: at(20),
    startedAt: at(4),
    attempts: 1,
    lastLoss: "its worker ended: exit 137",
    retries: 1,
  };
  const shown = timeline({ status: "IN_QUEUE", waitReason: "worker starting" }, details);
  expect(shown.map(({ title }) => title)).toEqual(["Submitted", "Back in the queue for another run", "Waits"]);
  expect(shown[1]!.text).toBe("its worker ended: exit 137");
});

test("a second run is counted", () => {
  const details = { queuedAt: at(20), startedAt: at(25), attempts: 2, completedAt: at(30) };
  expect(titles({ status: "FAILED" }, details)).toEqual([
    "Submitted",
    "Back in the queue",
    "Waited",
    "Run 2 began",
    "Failed",
  ]);
});

test("a job that ended in the queue never ran", () => {
  const [, ended] = timeline({ status: "TIMED_OUT", error: "x", errorCode: "job-expired" }, { completedAt: at(60) });
  expect(ended).toMatchObject({ title: "Timed out before it ran", ms: 60_000, text: "x", code: "job-expired" });
});

test("errors of public libraries show their traceback", () => {
  expect(
    errorText(JSON.stringify({ error_type: "<class>", error_message: "boom", error_traceback: "Traceback\n boom\n" })),
  ).toBe("Traceback\n boom");
  expect(errorText(JSON.stringify({ error_message: "boom" }))).toBe("boom");
  expect(errorText("plain")).toBe("plain");
  expect(errorText({ a: 1 })).toBe('{\n  "a": 1\n}');
});

test("one line of an error is its message, in Python and elsewhere", () => {
  expect(shortError("Traceback (most recent call last):\n  File x\nValueError: no paper\n")).toBe(
    "ValueError: no paper",
  );
  expect(shortError("Error: no paper\n    at handler (worker.ts:9)")).toBe("Error: no paper");
});
