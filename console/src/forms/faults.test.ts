/** What the server said about fields comes back to the control that shows them. */
import { expect, test } from "vitest";
import { faultWithin } from "./faults.ts";

const faults = new Map([
  ["name", "is required"],
  ["gpu.id", "is required"],
  ["ports[1]", "must be a port"],
  ["gpuCount", "is too large"],
]);

test("a control of several fields shows what is wrong within them, and nothing of others", () => {
  expect(faultWithin(faults, "name")).toBe("is required");
  expect(faultWithin(faults, "gpu")).toBe("id: is required");
  expect(faultWithin(faults, "ports")).toBe("[1]: must be a port");
  expect(faultWithin(faults, "mounts")).toBeUndefined();
  expect(faultWithin(undefined, "gpu")).toBeUndefined();
});
