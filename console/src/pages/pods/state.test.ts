/** What pages say about a Pod: its compute, what it may do now, what is lost, and which Pods a filter shows. */
import { models } from "@millrace/platform/contract.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { expect, test } from "vitest";
import { ableTo, bootsAmong, computeText, fits, lostBy, refusedAction, uptimeOf } from "./state.ts";

const pod = {
  id: "p1",
  name: "notebook",
  image: "pytorch:2",
  status: "RUNNING",
  actions: ["stop", "restart", "terminate"],
  locked: false,
  mounts: {},
  gpu: { id: "NVIDIA GeForce RTX 4090", count: 2, vcpuCount: 2, memory: 24 },
  dataCenterId: "US-KS-2",
  startedAt: "2026-01-01T00:00:00.000Z",
} as unknown as Pod;

test("compute is said in short", () => {
  expect(computeText(pod)).toBe("2 x RTX 4090");
  expect(computeText({ gpu: { id: "NVIDIA H100 PCIe", count: 1, vcpuCount: 1, memory: 1 } })).toBe("H100 PCIe");
  expect(computeText({ cpu: { id: "cpu3c", vcpuCount: 4, memory: 8 } })).toBe("cpu3c, 4 vCPU");
});

test("only a Pod that runs has an uptime", () => {
  const now = Date.parse("2026-01-01T01:00:00.000Z");
  expect(uptimeOf(pod, now)).toBe(3_600_000);
  expect(uptimeOf({ ...pod, status: "EXITED" }, now)).toBeUndefined();
});

test("an action that is refused says why: its state, its lock, or its cluster", () => {
  expect(refusedAction(pod, "stop")).toBeUndefined();
  expect(refusedAction(pod, "start")).toMatch(/^It is running/);
  expect(refusedAction({ ...pod, locked: true, actions: ["terminate"] }, "stop")).toMatch(/locked/);
  expect(refusedAction({ ...pod, actions: [], cluster: { id: "c", rank: 0 } }, "stop")).toMatch(/cluster/);
});

test("a terminated Pod loses its persistent mount, a stopped one keeps it, and network volumes stay", () => {
  const stored = {
    mounts: { persistent: { size: 20, path: "/workspace" }, network: [{ volumeId: "v1", path: "/data" }] },
  };
  expect(lostBy("terminate", stored)).toEqual([
    "What its program wrote to the container disk is lost.",
    "Its persistent mount /workspace (20 GB) is deleted with everything in it.",
    "The network volume v1 at /data stays.",
  ]);
  expect(lostBy("stop", stored)[1]).toBe("Its persistent mount /workspace stays and costs as before.");
});

test("filters: several statuses, a kind of compute, a data center, and words in any order", () => {
  const all = { statuses: [], kind: "all", dataCenter: "all", words: "" };
  expect(fits(pod, all)).toBe(true);
  expect(fits(pod, { ...all, statuses: ["ERROR", "RUNNING"] })).toBe(true);
  expect(fits(pod, { ...all, statuses: ["ERROR"] })).toBe(false);
  expect(fits(pod, { ...all, kind: "cpu" })).toBe(false);
  expect(fits(pod, { ...all, dataCenter: "EU-RO-1" })).toBe(false);
  expect(fits(pod, { ...all, words: "4090 note" })).toBe(true);
  expect(fits(pod, { ...all, words: "note h100" })).toBe(false);
});

test("of many that were chosen, only those that take the action are asked", () => {
  const stopped = { ...pod, id: "p2", status: "EXITED", actions: ["start", "terminate"] } as Pod;
  expect(ableTo([pod, stopped], ["p1", "p2"], "stop")).toEqual({ able: ["p1"], refused: 1 });
});

test("the model says which changes restart a Pod", () => {
  const schema = models.pods.update as unknown as { properties: Record<string, unknown> };
  expect(bootsAmong({ name: "x", env: {}, locked: true, image: "y" }, schema).toSorted()).toEqual(["env", "image"]);
});
