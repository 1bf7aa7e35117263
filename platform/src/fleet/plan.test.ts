/** What is planned for an endpoint, whatever its workers and jobs are doing. */
import { describe, expect, test } from "vitest";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { KeptWorker } from "../resources/workers/model.ts";
import { Room } from "./placer.ts";
import { type Facts, plan, type Step, type WorkerItem } from "./plan.ts";

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

function worker(id: string, changes: Partial<KeptWorker> = {}): WorkerItem {
  const doc: KeptWorker = {
    endpoint: "ep",
    release: 2,
    state: "READY",
    image: "host:/app",
    machine: "m",
    vcpu: 2,
    memoryMb: 4096,
    gpuType: null,
    gpuCount: 0,
    gpus: [],
    keyId: null,
    startedAt: NOW - 5000,
    readyAt: NOW - 4000,
    failedAt: null,
    reason: null,
    ...changes,
  };
  return { id, account: "a", createdAt: NOW - 6000, version: 1, doc };
}

const machines = [
  {
    id: "m",
    capacity: {
      vcpu: 8,
      memoryMb: 65_536,
      diskGb: 100,
      gpus: [{ id: "g0", type: GPU, virtual: true }],
      ceilings: false,
    },
  },
];

interface Given {
  endpoint?: Partial<KeptEndpoint>;
  workers?: WorkerItem[];
  /** Seconds that each job has waited. */
  waited?: number[];
  lowPriority?: number;
  /** Jobs of each worker. */
  jobs?: Record<string, number>;
  /** Seconds for which each worker has been idle. */
  idle?: Record<string, number>;
  there?: boolean;
}

function factsOf({
  endpoint,
  workers = [],
  waited = [],
  lowPriority = 0,
  jobs = {},
  idle = {},
  there = true,
}: Given): Facts {
  const inProgress = Object.values(jobs).reduce((sum, count) => sum + count, 0);
  const waitingSince = waited.map((s) => NOW - s * 1000);
  const taken = workers.flatMap(({ doc }) =>
    doc.machine && doc.state !== "FAILED" ? [{ ...doc, machine: doc.machine }] : [],
  );
  return {
    endpoint: endpointOf(endpoint),
    workers,
    load: { waiting: waited.length, lowPriorityWaiting: lowPriority, inProgress, waitingSince },
    jobsOf: new Map(Object.entries(jobs)),
    idleSince: (id) => (idle[id] === undefined ? undefined : NOW - idle[id] * 1000),
    room: new Room(there ? machines : [], taken),
    isThere: () => there,
    now: NOW,
  };
}

/** Steps in short: what is done, and to whom. */
function planned(given: Given): string[] {
  return plan(factsOf(given)).map((step: Step) =>
    "worker" in step ? `${step.do} ${step.worker.id}` : step.do === "add" ? `add on ${step.place.machine}` : step.do,
  );
}

const failed = (id: string, secondsAgo: number) =>
  worker(id, { state: "FAILED", failedAt: NOW - secondsAgo * 1000, readyAt: null, reason: "exit 7" });

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
      { do: "want", reason: "no capacity: needs 2x NVIDIA A40, 1 of 1 free" },
    ]);
  });

  test("a wanted worker is placed when there is room, and not wanted any more when the job is gone", () => {
    const workers = [worker("w", { state: "WANTED", machine: null, reason: "no capacity" })];
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
    const old = (id: string, changes: Partial<KeptWorker> = {}) => worker(id, { release: 1, ...changes });
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

test("decisions for 1,000 endpoints with 2,000 workers take under 50 ms", () => {
  const endpoints = Array.from({ length: 1000 }, (_, e) =>
    factsOf({
      waited: [1, 5, 9],
      workers: [worker(`a${e}`), worker(`b${e}`)],
      jobs: { [`a${e}`]: 1, [`b${e}`]: 0 },
      idle: { [`b${e}`]: 20 },
    }),
  );
  // The fastest of a few rounds: the others tell how busy the machine is.
  const rounds = Array.from({ length: 5 }, () => {
    const before = performance.now();
    for (const facts of endpoints) plan(facts);
    return performance.now() - before;
  });
  expect(Math.min(...rounds)).toBeLessThan(50);
});
