/** Workers of an endpoint: boots that the platform made, from the wish to the end. */
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
    STARTING: "Its program runs and has not yet asked for work, or is at its warm-up.",
    READY: "It asks for work or has some.",
    FROZEN: "Its program stands still until a job needs it.",
    DRAINING: "It gets no more work, and ends with what it has.",
    FAILED: "It could not begin, or ended unasked.",
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
    // Its record goes with what it stands for, which may be lost with its machine in any state.
    end: { from: ["WANTED", "PLACED", "STARTING", "READY", "FROZEN", "DRAINING", "FAILED"], to: "GONE" },
  },
});

/** What keeps a worker that runs from taking work, as the node of its machine sees it. */
export type Hindrance = {
  /**
   * overrun: it is at a job that is no longer its own, and asks for nothing. unhealthy: its health check fails after it was well.
   * rising: its health check says that it gets ready again. silent: nothing was heard of it since. lost: nothing was heard of its machine
   * since, which other nodes see, and nobody puts on record.
   */
  kind: "overrun" | "unhealthy" | "rising" | "silent" | "lost";
  since: number;
  /** Without the time that has passed. */
  reason: Reason;
};

/** The warm-up of a boot, from the time it was first handed out. */
export type WarmUp = {
  since: number;
  /** When it was last handed out. */
  givenAt: number;
  /** The worker is not at it, and gets it once more. */
  isLost?: boolean;
  ended?: { at: number; failed: boolean /** What came of it, shortened. */; said: string };
};

/** An instance, and what only workers have. Its owner is an endpoint. */
export type KeptWorker = KeptInstance & {
  kind: "worker";
  /** The release of the endpoint that it was booted from. */
  release: number;
  state: Moved<WorkerState>;
  /** Id of the keys with which it reaches its own routes and calls endpoints. */
  keyId: string | null;
  /** Not before then is it given a place again. */
  placeableAt?: number;
  /** When it first asked for work. */
  readyAt: number | null;
  failedAt: number | null;
  /** When it was last frozen. */
  frozenAt?: number;
  /** Memory that its program held when it was last frozen; absent before it was measured. */
  heldMb?: number;
  /** Of frozen workers it is let go last. */
  keptLast?: boolean;
  /** Absent or null while it is READY and nothing hinders it; of no meaning in other states. */
  hindrance?: Hindrance | null;
  /** Absent before it was handed out, and where the endpoint asks for none. */
  warmUp?: WarmUp;
};

/** The stream that a worker's lines are kept in. */
export const workerLog = (endpoint: string, worker: string) => `${workerLogsOf(endpoint)}${worker}`;

/** Where the streams of all workers of an endpoint are. */
export const workerLogsOf = (endpoint: string) => `${WORKER_LOGS}${endpoint}/`;

/** Where those of all endpoints are. They are kept for a time, those of Pods as long as the Pod. */
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
      description: "What can be asked of it now: nothing so far, since workers come and go with the work.",
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
