/** What is said of a cluster as a whole, from the statuses of its members. */
import { expect, test } from "vitest";
import { clusterPrice, clusterText, membersText, wholeStatus } from "./state.ts";

const pods = (byStatus: object, total = 4) => ({ pods: { total, byStatus } });

test("a cluster is as well as its worst member", () => {
  expect(wholeStatus(pods({ RUNNING: 4 }))).toBe("RUNNING");
  expect(wholeStatus(pods({ RUNNING: 3, STARTING: 1 }))).toBe("STARTING");
  expect(wholeStatus(pods({ RUNNING: 2, STARTING: 1, ERROR: 1 }))).toBe("ERROR");
  expect(wholeStatus(pods({}, 0))).toBe("EMPTY");
});

test("members are counted in words", () => {
  expect(membersText(pods({ RUNNING: 4 }))).toBe("4 running");
  expect(membersText(pods({ RUNNING: 2, PROVISIONING: 1, ERROR: 1 }))).toBe("2 of 4 running, 1 error, 1 provisioning");
});

test("compute is said in short, and paid for all members", () => {
  const compute = { gpuTypeId: "NVIDIA GeForce RTX 4090", gpuCountPerPod: 2, podCount: 3 };
  expect(clusterText({ compute })).toBe("3 members with 2 x RTX 4090");
  const catalog = [{ id: compute.gpuTypeId, price: { secure: 0.5 } }];
  expect(clusterPrice(compute, catalog)).toBeCloseTo(3);
  expect(clusterPrice({}, catalog)).toBeUndefined();
});
