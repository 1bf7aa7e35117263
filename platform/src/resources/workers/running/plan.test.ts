/** The plan for an endpoint, in every situation of its workers and jobs. */
import { describe, expect, test } from "vitest";
import { type GivenWorker, workerDoc } from "../../../../tests/worker-doc.ts";
import { because, saying } from "../../../kernel/reason.ts";
import { heldBy } from "../../../machines/held.ts";
import { placeOf } from "../../../machines/instances.ts";
import { Room } from "../../../machines/room.ts";
import { ONLY_BOX } from "../../../ports/compute/compute.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerState } from "../model.ts";
import { needOf } from "./need.ts";
import { type Facts, plan, type Step, type WorkerItem } from "./plan.ts";
import { AccountShare } from "./share.ts";
import { Shelf } from "./shelf.ts";

const CRASH = saying("program-ended", "exit 7");
const textOf = (step: Step) => ("reason" in step ? step.reason.text : step.do);
const NOW = 1_000_000;
const GPU = "NVIDIA A40";

function endpointOf(changes: Partial<KeptEndpoint> = {}): KeptEndpoint {
  return {
    name: "n",
    type: "QUEUE",
    image: "host:/app",
    args: "",
    entrypoint: [],
    cmd: [],
    disk: 20,
    env: {},
    ports: [],
    registry: null,
    cpu: [{ id: "cpu3c", vcpuCount: 2, memory: 4 }],
    workers: { min: 0, max: 3, idleTimeout: 10 },
    scaling: { type: "QUEUE_DELAY", queueDelay: 4 },
    dataCenterIds: [],
    networkVolumes: [],
    timeout: 300_000,
    flashboot: "OFF",
    release: 2,
    ...changes,
  };
}

function worker(id: string, changes: GivenWorker = {}): WorkerItem {
  const doc = workerDoc({
    ...{ release: 2, state: "READY", machine: "m", vcpu: 2, memoryMb: 4096 },
    ...{ startedAt: NOW - 5000, readyAt: NOW - 4000 },
    ...changes,
  });
  return { id, account: "a", createdAt: NOW - 6000, version: 1, doc };
}

const gpus = [{ type: GPU, count: 1, virtual: true }];
const box = { id: ONLY_BOX, vcpu: 8, memoryMb: 65_536, diskGb: 100, gpus, ceilings: false };
const machines = [{ id: "m", boxes: [box], dataCenter: "US-KS-2" }];

interface Given {
  endpoint?: Partial<KeptEndpoint>;
  workers?: WorkerItem[];
  /** How many seconds each job has waited. */
  waited?: number[];
  lowPriority?: number;
  /** The number of jobs of each worker. */
  jobs?: Record<string, number>;
  /** How many seconds each worker has been idle. */
  idle?: Record<string, number>;
  there?: boolean;
  frozenMb?: number;
  called?: string[];
  quota?: number;
  gpuQuota?: number;
  /** The machines that are silent, and those that are being drained. */
  silent?: string[];
  draining?: string[];
}

const shareOf = (quotas: { workers: number; gpus?: number; vcpu?: number }, workers: readonly WorkerItem[]) => {
  const docs = workers.map(({ doc }) => doc);
  return new AccountShare({ gpus: 1000, vcpu: 1000, ...quotas }, docs, heldBy(workers));
};

function factsOf({
  endpoint,
  workers = [],
  waited = [],
  lowPriority = 0,
  jobs = {},
  idle = {},
  there = true,
  frozenMb = 65_536,
  called = [],
  quota = 1000,
  gpuQuota = 1000,
  silent = [],
  draining = [],
}: Given): Facts {
  const inProgress = Object.values(jobs).reduce((sum, count) => sum + count, 0);
  const waitingSince = waited.map((s) => NOW - s * 1000);
  const room = new Room(there ? machines : [], workers.flatMap(placeOf));
  const frozen = workers.filter(({ doc }) => doc.state === "FROZEN");
  const shelf = new Shelf(frozen, room, [], { forMs: 3_600_000, memoryMb: () => frozenMb });
  return {
    endpoint: endpointOf(endpoint),
    workers,
    workload: { waiting: waited.length, lowPriorityWaiting: lowPriority, inProgress, waitingSince },
    jobsOf: new Map(Object.entries(jobs)),
    idleSince: (id) => (idle[id] === undefined ? undefined : NOW - idle[id] * 1000),
    room,
    share: shareOf({ workers: quota, gpus: gpuQuota }, workers),
    shelf,
    called,
    isThere: () => there,
    silentSince: (machine) => (silent.includes(machine ?? "") ? NOW - 20_000 : undefined),
    isDraining: (machine) => draining.includes(machine),
    now: NOW,
  };
}

/** The steps in short: what is done, and to which worker. */
function planned(given: Given): string[] {
  return plan(factsOf(given)).map((step: Step) =>
    "worker" in step ? `${step.do} ${step.worker.id}` : step.do === "add" ? `add on ${step.place.machine}` : step.do,
  );
}

const failed = (id: string, secondsAgo: number) =>
  worker(id, { state: "FAILED", failedAt: NOW - secondsAgo * 1000, readyAt: null, reason: CRASH });

describe("starting", () => {
  test("nothing is done for an endpoint without jobs and workers", () => {
    expect(planned({})).toEqual([]);
  });

  test("the first job starts a worker", () => {
    expect(planned({ waited: [0] })).toEqual(["add on m"]);
  });

  test("min is kept up without any job", () => {
    expect(planned({ endpoint: { workers: { min: 2, max: 3, idleTimeout: 10 } } })).toEqual(["add on m", "add on m"]);
  });

  test("a worker that was started by hand does its part of the load", () => {
    expect(planned({ waited: [0], jobs: { byHand: 0 } })).toEqual([]);
    expect(planned({ waited: [9], jobs: { byHand: 1 } })).toEqual(["add on m"]);
  });

  test("max counts workers that only end their last job", () => {
    const workers = [worker("old", { state: "DRAINING" })];
    const endpoint = { workers: { min: 0, max: 1, idleTimeout: 10 } };
    expect(planned({ waited: [9], workers, jobs: { old: 1 }, endpoint })).toEqual([]);
  });

  test("without room a worker is wanted, with the reason", () => {
    const endpoint = { cpu: undefined, gpu: { types: [GPU], count: 2, allowedCudaVersions: [], minCudaVersion: null } };
    expect(plan(factsOf({ waited: [0], endpoint }))).toEqual([
      { do: "want", reason: because("no-capacity", { lacks: "gpu", need: "needs 2x NVIDIA A40, 1 of 1 free" }) },
    ]);
  });

  test("no more are started than the account may have, and one that is wanted says so", () => {
    const endpoint = { workers: { min: 5, max: 5, idleTimeout: 10 }, cpu: [{ id: "cpu3c", vcpuCount: 1, memory: 1 }] };
    const steps = plan(factsOf({ endpoint, quota: 2 }));
    expect(steps.map((step) => step.do)).toEqual(["add", "add", "want"]);
    const full = because("quota-reached", { what: "workers", used: 2, limit: 2, needed: 1 });
    expect(steps.at(-1)).toMatchObject({ reason: full });
    const wanted = worker("w", { state: "WANTED", machine: null, reason: because("making-room") });
    const workers = [worker("a"), worker("b"), wanted];
    expect(plan(factsOf({ endpoint, quota: 2, workers }))).toEqual([
      { do: "explain", worker: workers[2], reason: full },
    ]);
    expect(planned({ endpoint, quota: 3, workers })).toEqual(["place w"]);
  });

  test("workers that have no room are wanted up to what the account may have", () => {
    const endpoint = {
      ...{ workers: { min: 900, max: 1000, idleTimeout: 10 }, cpu: undefined },
      gpu: { types: [GPU], count: 2, allowedCudaVersions: [], minCudaVersion: null },
    };
    expect(plan(factsOf({ endpoint, quota: 3 })).map((step) => step.do)).toEqual(["want", "want", "want"]);
  });

  test("of an account that has as many without room elsewhere, one is wanted, which says why", () => {
    const endpoint = { workers: { min: 5, max: 5, idleTimeout: 10 } };
    const elsewhere = ["x", "y", "z"].map((id) => worker(id, { state: "WANTED", machine: null }));
    const facts = { ...factsOf({ endpoint, there: false }), share: shareOf({ workers: 3 }, elsewhere) };
    expect(plan(facts).map((step) => step.do)).toEqual(["want"]);
  });

  test("GPUs of all workers count together, and of those that may not be one says why", () => {
    const gpu = { types: [GPU], count: 1, allowedCudaVersions: [], minCudaVersion: null };
    const endpoint = { workers: { min: 3, max: 3, idleTimeout: 10 }, cpu: undefined, gpu };
    const steps = plan(factsOf({ endpoint, gpuQuota: 1 }));
    expect(steps.map(textOf)).toEqual(["add", "account quota: 1 of 1 GPUs in use"]);
  });

  test("vCPU count too, and one that may not be takes no room", () => {
    const endpoint = { workers: { min: 3, max: 3, idleTimeout: 10 } };
    const facts = { ...factsOf({ endpoint }), share: shareOf({ workers: 9, vcpu: 3 }, []) };
    const steps = plan(facts);
    expect(facts.room.fitting(needOf(facts.endpoint))).toBe(3);
    expect(steps.map(textOf)).toEqual(["add", "account quota: 2 of 3 vCPU in use, needs 2"]);
  });

  test("a frozen worker is thawed only if the account may have one more", () => {
    const frozen = worker("f", { state: "FROZEN", frozenAt: NOW - 1000 });
    const given = { endpoint: { flashboot: "FLASHBOOT" as const }, waited: [0], workers: [frozen] };
    expect(planned({ ...given, quota: 1 })).toEqual(["thaw f"]);
    expect(planned({ ...given, quota: 0 })).not.toContain("thaw f");
  });

  test("for an account that has spent what it may nothing is started or thawed, one says why, and what runs stays", () => {
    const unpaid = because("no-credit");
    const endpoint = { workers: { min: 3, max: 5, idleTimeout: 10 }, flashboot: "FLASHBOOT" as const };
    const workers = [worker("busy"), worker("f", { state: "FROZEN", frozenAt: NOW - 1000 })];
    const facts = { ...factsOf({ endpoint, workers, jobs: { busy: 1 }, waited: [9, 9] }), unpaid };
    expect(plan(facts)).toEqual([{ do: "want", reason: unpaid }]);
    const wanted = worker("w", { state: "WANTED", machine: null, reason: unpaid });
    const later = factsOf({ endpoint, workers: [...workers, wanted], jobs: { busy: 1 }, waited: [9, 9] });
    expect(plan({ ...later, unpaid })).toEqual([]);
    expect(plan(later).map((step) => step.do)).toEqual(["thaw", "place"]);
  });

  test("a wanted worker is placed when there is room, and not wanted any more when the job is gone", () => {
    const workers = [worker("w", { state: "WANTED", machine: null, reason: because("making-room") })];
    expect(planned({ waited: [0], workers })).toEqual(["place w"]);
    expect(planned({ workers })).toEqual(["forget w"]);
  });
});

describe("ending", () => {
  test("an idle worker ends after its time, a busy one does not", () => {
    const workers = [worker("busy"), worker("idle")];
    expect(planned({ workers, jobs: { busy: 1, idle: 0 }, idle: { idle: 10 } })).toEqual(["drain idle"]);
    expect(planned({ workers, jobs: { busy: 1, idle: 0 }, idle: { idle: 9 } })).toEqual([]);
  });

  test("a lowered max drains whoever loses least", () => {
    const workers = [worker("busy"), worker("idle"), worker("boot", { state: "STARTING" })];
    const one = { workers: { min: 0, max: 1, idleTimeout: 10 } };
    expect(planned({ workers, jobs: { busy: 1, idle: 0 }, endpoint: one }).sort()).toEqual([
      "drain boot",
      "drain idle",
    ]);
  });

  test("max 0 pauses: everyone is drained, and nobody is started", () => {
    const endpoint = { workers: { min: 0, max: 0, idleTimeout: 10 } };
    expect(planned({ workers: [worker("w")], waited: [9], endpoint })).toEqual(["drain w"]);
  });

  test("a new release drains all workers of the one before, and forgets its failures", () => {
    const old = (id: string, changes: GivenWorker = {}) => worker(id, { release: 1, ...changes });
    const workers = [
      old("ready"),
      old("boot", { state: "STARTING" }),
      old("ending", { state: "DRAINING" }),
      old("wanted", { state: "WANTED", machine: null }),
      old("failed", { state: "FAILED" }),
    ];
    expect(planned({ workers })).toEqual(["drain ready", "drain boot", "forget wanted", "forget failed"]);
  });

  test("workers of the new release start beside those of the old one, within max", () => {
    const endpoint = { workers: { min: 2, max: 3, idleTimeout: 10 } };
    const workers = [worker("a", { release: 1 }), worker("b", { release: 1 })];
    expect(planned({ workers, endpoint })).toEqual(["drain a", "drain b", "add on m"]);
  });

  test("workers of a machine that is gone are lost", () => {
    expect(planned({ workers: [worker("w")], there: false })).toEqual(["lose w"]);
  });
});

describe("failures", () => {
  test("hold back the next start for a while", () => {
    expect(planned({ waited: [9], workers: [failed("f", 0.5)] })).toEqual([]);
    expect(planned({ waited: [9], workers: [failed("f", 1)] })).toEqual(["add on m"]);
  });

  test("one worker at a time is tried after them, however many are wanted", () => {
    expect(planned({ waited: [9, 9, 9], workers: [failed("f", 5)] })).toEqual(["add on m"]);
    const trying = [failed("f", 5), worker("w", { state: "STARTING", readyAt: null })];
    expect(planned({ waited: [9, 9, 9], workers: trying })).toEqual([]);
  });

  test("are forgotten once a worker has proven healthy", () => {
    const proven = worker("w", { readyAt: NOW - 10_000 });
    expect(planned({ workers: [proven, failed("f", 20)], jobs: { w: 1 } })).toEqual(["forget f"]);
    const fresh = worker("w", { readyAt: NOW - 1000 });
    expect(planned({ workers: [fresh, failed("f", 20)], jobs: { w: 1 } })).toEqual([]);
  });

  test("only as many are kept as make a difference, the newest", () => {
    const many = Array.from({ length: 10 }, (_, i) => failed(`f${i}`, i));
    expect(planned({ workers: many })).toEqual(["forget f8", "forget f9"]);
  });
});

test("a plan that was carried out asks for nothing more", () => {
  const [step] = plan(factsOf({ waited: [0] }));
  if (step?.do !== "add") throw new Error("a worker was to be added");
  const placed = worker("w", { ...step.place, state: "PLACED", startedAt: null, readyAt: null });
  expect(planned({ waited: [1], workers: [placed] })).toEqual([]);
});

describe("with FlashBoot", () => {
  const flashboot = "FLASHBOOT";
  const frozen = (id: string, secondsAgo: number, changes: GivenWorker = {}) =>
    worker(id, { state: "FROZEN", frozenAt: NOW - secondsAgo * 1000, ...changes });

  test("an idle worker is frozen, and ended where there is no memory for it", () => {
    const given = { endpoint: { flashboot } as const, workers: [worker("w")], jobs: { w: 0 }, idle: { w: 10 } };
    expect(planned(given)).toEqual(["freeze w"]);
    expect(planned({ ...given, frozenMb: 0 })).toEqual(["drain w"]);
    const measured = { ...given, workers: [worker("w", { heldMb: 4096 })] };
    expect(planned({ ...measured, frozenMb: 4096 })).toEqual(["freeze w"]);
    expect(planned({ ...measured, frozenMb: 4095 })).toEqual(["drain w"]);
    expect(planned({ ...given, endpoint: { flashboot, workers: { min: 1, max: 3, idleTimeout: 10 } } })).toEqual([]);
  });

  test("frozen workers are no reason for anything while nothing waits", () => {
    expect(planned({ endpoint: { flashboot }, workers: [frozen("a", 1), frozen("b", 2)] })).toEqual([]);
  });

  test("a job that nobody waits for thaws the worker frozen last, at once", () => {
    const workers = [frozen("a", 9), frozen("b", 1), worker("busy")];
    expect(planned({ endpoint: { flashboot }, workers, jobs: { busy: 1 }, waited: [0] })).toEqual(["thaw b"]);
    expect(planned({ endpoint: { flashboot }, workers, jobs: { busy: 0 }, waited: [0] })).toEqual([]);
  });

  test("a thaw comes before a start, and both together do not pass max", () => {
    const workers = [frozen("a", 1), worker("busy")];
    const given = { endpoint: { flashboot }, workers, jobs: { busy: 1 }, waited: [9, 9, 9] } as const;
    expect(planned({ ...given, waited: [9, 9, 9] })).toEqual(["thaw a", "add on m"]);
  });

  test("no more are thawed than max allows beside those that end their last job", () => {
    const workers = [frozen("a", 1), worker("ending", { state: "DRAINING" })];
    const endpoint = { flashboot, workers: { min: 0, max: 1, idleTimeout: 10 } } as const;
    expect(planned({ endpoint, workers, jobs: { ending: 1 }, waited: [0] })).toEqual([]);
  });

  test("by the count of requests no more are thawed than it asks for", () => {
    const endpoint = { flashboot, scaling: { type: "REQUEST_COUNT", requestCount: 2 } } as const;
    const workers = [frozen("a", 1), frozen("b", 2), worker("busy")];
    expect(planned({ endpoint, workers, jobs: { busy: 1 }, waited: [0] })).toEqual([]);
    expect(planned({ endpoint, workers, jobs: { busy: 1 }, waited: [0, 0] })).toEqual(["thaw a"]);
  });

  test("a worker that requests insist on is thawed, before any other, as long as max allows it", () => {
    const scaling = { type: "REQUEST_COUNT", requestCount: 4 } as const;
    const workers = [frozen("a", 1), frozen("b", 2), worker("busy")];
    const given = { endpoint: { flashboot, scaling } as const, workers, jobs: { busy: 1 }, called: ["b"] };
    expect(planned(given)).toEqual(["thaw b"]);
    const full = { ...given.endpoint, workers: { min: 0, max: 1, idleTimeout: 10 } };
    expect(planned({ ...given, endpoint: full })).not.toContain("thaw b");
  });

  test("jobs of low priority thaw nobody", () => {
    expect(planned({ endpoint: { flashboot }, workers: [frozen("a", 1)], lowPriority: 2 })).toEqual([]);
  });

  test("min is made up of frozen workers first", () => {
    const endpoint = { flashboot, workers: { min: 2, max: 3, idleTimeout: 10 } } as const;
    expect(planned({ endpoint, workers: [frozen("a", 1)] })).toEqual(["thaw a", "add on m"]);
  });

  test("failures do not keep a frozen worker from being thawed", () => {
    const workers = [failed("f", 0), frozen("a", 1)];
    expect(planned({ endpoint: { flashboot }, workers, waited: [0] })).toEqual(["thaw a"]);
  });

  test("those end that are of an older release, frozen for too long or more than max", () => {
    const endpoint = { flashboot, workers: { min: 0, max: 1, idleTimeout: 10 } } as const;
    const workers = [frozen("stale", 1, { release: 1 }), frozen("over", 3600), frozen("old", 9), frozen("new", 1)];
    expect(planned({ endpoint, workers })).toEqual(["drain stale", "drain over", "drain old"]);
  });
});

describe("machines that are silent or drained", () => {
  const min = (count: number) => ({ workers: { min: count, max: 3, idleTimeout: 10 } });
  const on = (machine: string, state: WorkerState) => worker(`${machine} ${state}`, { machine, state });

  test("workers on a silent machine are not counted on, and no more than max are there with them", () => {
    const workers = [on("x", "READY"), on("x", "STARTING")];
    expect(planned({ workers, silent: ["x"], endpoint: min(2) })).toEqual(["add on m"]);
  });

  test("those that rest or end there take nobody's place", () => {
    const workers = [worker("c"), worker("d"), on("x", "FROZEN"), on("x", "DRAINING")];
    const endpoint = { ...min(2), flashboot: "FLASHBOOT" as const };
    expect(planned({ workers, silent: ["x"], jobs: { c: 1, d: 1 }, endpoint })).toEqual([]);
  });

  test("workers on a machine that is being drained end, and others take their place elsewhere", () => {
    const workers = [on("x", "READY"), on("x", "DRAINING")];
    expect(planned({ workers, draining: ["x"], endpoint: min(1) })).toEqual(["drain x READY", "add on m"]);
  });
});
