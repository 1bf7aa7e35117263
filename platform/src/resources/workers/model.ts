/** Workers of an endpoint: the boots that the platform makes, from the plan to the end. */
import { lifecycle, type Moved } from "../../kernel/lifecycle.ts";
import type { Reason } from "../../kernel/reason.ts";
import { dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";
import type { KeptInstance } from "../../machines/instances.ts";

export type WorkerState = "WANTED" | "PLACED" | "STARTING" | "READY" | "FROZEN" | "DRAINING" | "FAILED" | "GONE";
export type WorkerMove = "place" | "unplace" | "start" | "answer" | "freeze" | "thaw" | "drain" | "fail" | "end";

export const workerLifecycle = lifecycle<WorkerState, WorkerMove>({
  of: "worker",
  states: {
    WANTED: "No machine has room for it.",
    PLACED: "A machine is chosen, and the boot may begin.",
    STARTING: "Its program runs, but has not yet asked for work or is busy with its warm-up.",
    READY: "It asks for work or has some.",
    FROZEN: "Its program is frozen until a job needs it.",
    DRAINING: "It gets no more work, and ends after its current jobs.",
    FAILED: "It could not start, or ended unexpectedly.",
    GONE: "Nothing of it is left.",
  },
  begins: ["WANTED", "PLACED"],
  moves: {
    place: { from: ["WANTED"], to: "PLACED" },
    unplace: { from: ["PLACED"], to: "WANTED" },
    start: { from: ["PLACED"], to: "STARTING" },
    answer: { from: ["STARTING"], to: "READY" },
    freeze: { from: ["READY"], to: "FROZEN" },
    thaw: { from: ["FROZEN"], to: "READY" },
    drain: { from: ["PLACED", "STARTING", "READY", "FROZEN"], to: "DRAINING" },
    fail: { from: ["PLACED", "STARTING", "READY", "FROZEN", "DRAINING"], to: "FAILED" },
    // A worker's record is removed together with the worker, which may be lost with its machine in any state.
    end: { from: ["WANTED", "PLACED", "STARTING", "READY", "FROZEN", "DRAINING", "FAILED"], to: "GONE" },
  },
});

/** What keeps a running worker from taking work, as the node of its machine sees it. */
export type Hindrance = {
  /**
   * overrun: it works on a job that is no longer its own, and asks for nothing. unhealthy: its health check fails after it once passed.
   * rising: its health check says that it is getting ready again. silent: it has not been heard of since. lost: its machine has not been
   * heard of since; only other nodes see this, and nobody records it.
   */
  kind: "overrun" | "unhealthy" | "rising" | "silent" | "lost";
  since: number;
  /** The text leaves out how much time has passed. */
  reason: Reason;
};

/** The warm-up of a boot, from the time it was first handed out. */
export type WarmUp = {
  since: number;
  /** When the warm-up was last handed out. */
  givenAt: number;
  /** The worker is not doing the warm-up, so it gets it once more. */
  isLost?: boolean;
  ended?: {
    at: number;
    failed: boolean;
    /** The result or the error of the warm-up, shortened. */
    said: string;
  };
};

/** An instance with the fields that only workers have. Its owner is an endpoint. */
export type KeptWorker = KeptInstance & {
  kind: "worker";
  /** The release of the endpoint that the worker was booted from. */
  release: number;
  state: Moved<WorkerState>;
  /** The id of the keys that open the worker's own routes and call endpoints. */
  keyId: string | null;
  /** The worker gets no new place before this time. */
  placeableAt?: number;
  /** When the worker first asked for work. */
  readyAt: number | null;
  failedAt: number | null;
  /** When the worker was last frozen. */
  frozenAt?: number;
  /** The memory that its program held when it was last frozen. Absent until it was measured. */
  heldMb?: number;
  /** This worker is the last that gives way among frozen workers. */
  keptLast?: boolean;
  /** Absent or null while the worker is READY and nothing hinders it. It has no meaning in other states. */
  hindrance?: Hindrance | null;
  /** Absent until the warm-up is handed out, and if the endpoint has none. */
  warmUp?: WarmUp;
};

/** Workers that run or are about to count against a quota. Frozen workers are bounded by memory instead, and a thaw counts. */
export const takesPlace = ({ state }: KeptWorker) => !["WANTED", "FROZEN", "FAILED"].includes(state);

/** The log stream of one worker. */
export const workerLog = (endpoint: string, worker: string) => `${workerLogsOf(endpoint)}${worker}`;

/** The prefix of the log streams of an endpoint's workers. */
export const workerLogsOf = (endpoint: string) => `${WORKER_LOGS}${endpoint}/`;

/** The prefix of all workers' log streams. They are kept for a time, while those of Pods are kept as long as the Pod. */
export const WORKER_LOGS = "worker/";

const workerStatuses = ["RUNNING", "IDLE", "INITIALIZING", "THROTTLED", "UNHEALTHY"] as const;
export type WorkerStatus = (typeof workerStatuses)[number];

export const Worker = t.Object(
  {
    id: t.String({ description: "Unique worker identifier; a new one for every boot." }),
    status: oneOf(workerStatuses, {
      description:
        "`RUNNING`: it has jobs, or is at its last. `IDLE`: it asks for some. `INITIALIZING`: it is being started. `THROTTLED`: no machine has " +
        "room for it. `UNHEALTHY`: it could not begin, ended unasked, or is not well.",
    }),
    frozen: t.Optional(
      t.Boolean({ description: "True for an `IDLE` worker that stands still until a job needs it (`flashboot`)." }),
    ),
    actions: t.Array(t.String(), {
      description: "Always empty: workers start and end by themselves.",
    }),
    isStale: t.Boolean({ description: "Whether it was started from another release than the endpoint's newest." }),
    gpuCount: t.Integer({ minimum: 0 }),
    version: t.Optional(
      nullable(t.Integer({ description: "The release that it was started from; null for one started by hand." })),
    ),
    image: t.Optional(nullable(t.String())),
    gpuTypeId: t.Optional(nullable(t.String())),
    dataCenterId: t.Optional(nullable(t.String())),
    uptimeSeconds: t.Optional(nullable(t.Integer({ minimum: 0 }))),
    startedAt: t.Optional(nullable(dateTime("When its program was started."))),
    reason: t.Optional(
      nullable(
        t.String({ description: "Why it waits, takes no work, is frozen, drains or failed, in words for people." }),
      ),
    ),
    reasonCode: t.Optional(nullable(t.String({ description: "The code of `reason`, for programs: docs/reasons.md." }))),
  },
  { $id: "Worker" },
);
export type Worker = Static<typeof Worker>;

const count = t.Integer({ minimum: 0 });

export const WorkerSummary = t.Object(
  { running: count, idle: count, initializing: count, throttled: count, unhealthy: count, total: count },
  { $id: "WorkerSummary" },
);
export type WorkerSummary = Static<typeof WorkerSummary>;
