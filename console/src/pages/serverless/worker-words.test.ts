/** When a worker can have a terminal. */
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { expect, it } from "vitest";
import { whyNoTerminal } from "./worker-words.ts";

const worker: Worker = {
  id: "w",
  status: "IDLE",
  actions: [],
  isStale: false,
  gpuCount: 0,
  version: 1,
  startedAt: "2026-01-01T00:00:00.000Z",
};

it("opens terminals in programs that run", () => {
  expect(whyNoTerminal(worker)).toBeUndefined();
  expect(whyNoTerminal({ ...worker, status: "RUNNING" })).toBeUndefined();
});

it("says why there is none elsewhere", () => {
  expect(whyNoTerminal({ ...worker, frozen: true })).toMatch(/frozen/);
  expect(whyNoTerminal({ ...worker, startedAt: null })).toMatch(/does not run/);
  expect(whyNoTerminal({ ...worker, version: null })).toMatch(/by hand/);
  expect(whyNoTerminal({ ...worker, status: "THROTTLED" })).toMatch(/no machine/);
});
