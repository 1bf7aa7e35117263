/** What a Pod's status means, from objects as Kubernetes 1.32 wrote them. */
import { describe, expect, test } from "vitest";
import { PlaceGone } from "../../ports/compute/compute.ts";
import { ImageDenied } from "../../ports/compute/images.ts";
import { type ContainerStatus, label, note, type Pod } from "./kube-objects.ts";
import { type Around, instanceOf, NO_ROOM_MS, toText } from "./pod-state.ts";

const MADE = "2026-11-17T22:15:10Z";
const BEGUN = "2026-11-17T22:15:16Z";
const ENDED = "2026-11-17T22:15:19Z";
const now = Date.parse(ENDED);
const here: Around = { isNodeThere: true, now };

function pod(status: Pod["status"], metadata: Partial<Pod["metadata"]> = {}): Pod {
  return {
    metadata: {
      name: "millrace-i1",
      uid: "u1",
      creationTimestamp: MADE,
      labels: { [label.instance]: "i1", [label.kind]: "worker" },
      ...metadata,
      annotations: { [note.owner]: "e1", [note.memoryMb]: "128", ...metadata.annotations },
    },
    spec: { nodeName: "node-a", containers: [] },
    ...(status && { status }),
  };
}

const main = (state: ContainerStatus["state"]) => ({ containerStatuses: [{ name: "main", state }] });
const running = { phase: "Running" as const, ...main({ running: { startedAt: BEGUN } }) };
const ended = (exitCode: number, reason = "Error") =>
  main({ terminated: { exitCode, reason, startedAt: BEGUN, finishedAt: ENDED } });
const waiting = (reason: string, message = "") => ({
  phase: "Pending" as const,
  ...main({ waiting: { reason, message } }),
});

test("a running Pod is a running instance, from when its program began", () => {
  expect(instanceOf(pod(running), here)).toEqual({
    id: "i1",
    kind: "worker",
    owner: "e1",
    state: "running",
    startedAt: Date.parse(BEGUN),
  });
});

describe("an exit", () => {
  test("has the code of its program, and a signal has none", () => {
    expect(instanceOf(pod({ phase: "Failed", ...ended(4) }), here).exit).toEqual({ code: 4, at: now });
    expect(instanceOf(pod({ phase: "Failed", ...ended(137) }), here).exit).toEqual({
      code: null,
      signal: "SIGKILL",
      at: now,
    });
  });

  test("does not take a program's own words for the reason", () => {
    const state = { terminated: { exitCode: 1, reason: "Error", message: "out of memory", finishedAt: ENDED } };
    expect(instanceOf(pod({ phase: "Failed", ...main(state) }), here).exit).toEqual({ code: 1, at: now });
  });

  test("of a Pod that somebody deleted says so, unless Millrace itself ends it", () => {
    const deleted = { deletionTimestamp: ENDED };
    const status = { phase: "Failed" as const, ...ended(143) };
    expect(instanceOf(pod(status, deleted), here).exit).toMatchObject({ cause: "ended-outside" });
    const asked = { ...deleted, annotations: { [note.stopping]: "true" } };
    expect(instanceOf(pod(status, asked), here).exit).not.toHaveProperty("cause");
  });

  test("after a stop has no other reason, although Kubernetes calls that a deadline", () => {
    const stopped = pod({
      phase: "Failed",
      reason: "DeadlineExceeded",
      message: "Pod was active too long",
      ...ended(3),
    });
    expect(instanceOf(stopped, here).exit).toEqual({ code: 3, at: now });
  });

  test("for want of memory says how much there was", () => {
    expect(instanceOf(pod({ phase: "Failed", ...ended(137, "OOMKilled") }), here).exit).toMatchObject({
      reason: "out of memory: may use 128 MB",
      cause: "out-of-memory",
    });
  });

  test("of a program that wrote too much is its own doing, and that of one whose node is full is not", () => {
    const evicted = (message: string) => pod({ phase: "Failed", reason: "Evicted", message, ...ended(137) });
    const own = instanceOf(
      evicted("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "),
      here,
    );
    expect(own.exit).toMatchObject({ cause: "filled-disk", isFinal: true });
    const others = instanceOf(evicted("The node was low on resource: memory. Threshold quantity: 100Mi"), here);
    expect(others.exit).toMatchObject({ isLost: true, reason: expect.stringContaining("low on resource: memory") });
  });

  test("with 0 because its node evicted it has the reason of the event", () => {
    const warning = {
      reason: "Evicted",
      message: "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
    };
    const done = pod({ phase: "Succeeded", ...ended(0, "Completed") });
    expect(instanceOf(done, { ...here, warning }).exit).toMatchObject({ code: 0, cause: "filled-disk", isFinal: true });
  });

  test.each([
    ["PreemptionByScheduler", "a more important Pod took its place"],
    ["EvictionByEvictionAPI", "its node is being drained"],
    ["DeletionByTaintManager", "its node was lost"],
    ["DeletionByPodGC", "its node is gone"],
  ])("by %s is a lost place: %s", (reason, words) => {
    const conditions = [{ type: "DisruptionTarget", status: "True", reason, message: "m" }];
    const { exit } = instanceOf(pod({ phase: "Failed", conditions, ...ended(143) }), here);
    expect(exit).toMatchObject({ isLost: true, reason: expect.stringContaining(words) });
  });

  test("on a node that does not answer counts once Kubernetes has given the Pod up, and not before", () => {
    const away = { ...here, isNodeThere: false };
    expect(instanceOf(pod(running), away).state).toBe("running");
    const given = instanceOf(pod(running, { deletionTimestamp: ENDED }), away);
    expect(given).toMatchObject({ state: "exited", exit: { code: null, isLost: true } });
    expect(instanceOf(pod(running, { deletionTimestamp: ENDED }), here).state).toBe("running");
  });
});

describe("a Pod that has not begun", () => {
  test("waits for room, in the scheduler's words", () => {
    const message = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.";
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
    expect(instanceOf(pod({ phase: "Pending", conditions }), here)).toMatchObject({
      state: "pending",
      waitsFor: `no node has room for it: ${message}`,
    });
  });

  test("and was given a node without room is placed elsewhere after a while", () => {
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "no" }];
    const given = pod({ phase: "Pending", conditions }, { annotations: { [note.box]: "node-a" } });
    expect(instanceOf(given, { ...here, now: Date.parse(MADE) }).state).toBe("pending");
    const later = instanceOf(given, { ...here, now: Date.parse(MADE) + NO_ROOM_MS });
    expect(later.refusal).toBeInstanceOf(PlaceGone);
  });

  test.each([
    ["ErrImageNeverPull", "Container image is not present with pull policy of Never", "image-not-found"],
    ["ErrImagePull", 'failed to resolve reference "r/x:1": r/x:1: not found', "image-not-found"],
    ["ImagePullBackOff", 'Back-off pulling image "r/x:1": ErrImagePull: pull access denied', "image-denied"],
    ["InvalidImageName", "couldn't parse image name", "image-invalid"],
    ["CreateContainerError", "failed to generate container spec", "engine-refused"],
  ])("is refused for %s", (reason, message, code) => {
    const later = { ...here, now: now + 60_000 };
    expect(instanceOf(pod(waiting(reason, message)), later)).toMatchObject({
      state: "refused",
      refusal: { reason: code },
    });
  });

  test("waits while a registry does not answer, and says so", () => {
    const away = pod(waiting("ErrImagePull", "dial tcp 10.0.0.1:443: i/o timeout"));
    expect(instanceOf(away, here)).toMatchObject({
      state: "pending",
      waitsFor: expect.stringContaining("i/o timeout"),
    });
  });

  test("waits while its node has not read its Secret", () => {
    const early = pod(
      waiting("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition"),
    );
    expect(instanceOf(early, here).state).toBe("pending");
  });

  test("says what the last warning about it was", () => {
    const warning = { reason: "FailedMount", message: "MountVolume.SetUp failed" };
    expect(instanceOf(pod(waiting("ContainerCreating")), { ...here, warning }).waitsFor).toBe(
      "FailedMount: MountVolume.SetUp failed",
    );
  });

  test("and was rejected by its node, or deleted, may start elsewhere", () => {
    const rejected = instanceOf(pod({ phase: "Failed", reason: "OutOfcpu", message: "Pod was rejected" }), here);
    expect(rejected.refusal).toBeInstanceOf(PlaceGone);
    const deleted = instanceOf(pod({ phase: "Pending" }, { deletionTimestamp: ENDED }), here);
    expect(deleted.refusal).toBeInstanceOf(PlaceGone);
  });

  test("stays refused for the reason that was written to it", () => {
    for (const refusal of [new PlaceGone("gone"), new ImageDenied("no")]) {
      const read = instanceOf(pod(running, { annotations: { [note.refused]: toText(refusal) } }), here);
      expect([read.state, read.refusal?.constructor, read.refusal?.message]).toEqual([
        "refused",
        refusal.constructor,
        refusal.message,
      ]);
    }
  });
});
