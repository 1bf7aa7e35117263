/** How a worker finds its server, from either family of variables. */
import { expect, test } from "vitest";
import { workerEnv } from "../../platform/src/resources/endpoints/worker-env.ts";
import { placeFrom, testInputIn } from "./settings.ts";

const printed = workerEnv({
  url: "http://10.0.0.1:7420",
  endpoint: "ep1",
  worker: "w1",
  key: "mlr_key",
  callKey: "mlr_call",
});
const family = (prefix: string) =>
  Object.fromEntries(Object.entries(printed).filter(([name]) => name.startsWith(prefix)));
const place = { endpointUrl: "http://10.0.0.1:7420/v2/ep1", worker: "w1", key: "mlr_key", pingIntervalMs: 10_000 };

test("both families of the variables that worker-env prints lead to the same place", () => {
  expect(placeFrom(family("MILLRACE_"))).toEqual(place);
  expect(placeFrom(family("RUNPOD_"))).toEqual(place);
});

test("a placeholder in the take URL stands for the worker's id", () => {
  const url = "http://10.0.0.1:7420/v2/ep1/job-take/$RUNPOD_POD_ID?gpu=none";
  expect(placeFrom({ ...family("RUNPOD_"), RUNPOD_WEBHOOK_GET_JOB: url })).toEqual(place);
});

test("our own names win", () => {
  expect(placeFrom({ ...printed, MILLRACE_URL: "http://other/" })?.endpointUrl).toBe("http://other/v2/ep1");
});

test("nothing set means a local test; half of it is refused with the name of what is missing", () => {
  expect(placeFrom({})).toBeUndefined();
  expect(() => placeFrom({ MILLRACE_URL: "http://x" })).toThrow("MILLRACE_ENDPOINT_ID is not set");
  expect(() => placeFrom({ RUNPOD_WEBHOOK_GET_JOB: "http://x/take" })).toThrow("must look like");
});

test("a ping interval that would never rest is not taken", () => {
  expect(placeFrom({ ...printed, RUNPOD_PING_INTERVAL: "0" })?.pingIntervalMs).toBe(10_000);
  expect(placeFrom({ ...printed, RUNPOD_PING_INTERVAL: "2000" })?.pingIntervalMs).toBe(2000);
});

test("a test input is read in every form that people type", () => {
  const json = '{"input":{"a":"=b"}}';
  for (const args of [["--test-input", json], [`--test-input=${json}`], ["-v", "--test_input", json]]) {
    expect(testInputIn(args)).toBe(json);
  }
  expect(testInputIn(["--other"])).toBeUndefined();
});
