/** Workers of an endpoint: boots that the platform made, from the wish to the end. */
import type { Kept } from "../../kernel/document.ts";
import { lifecycle } from "../../kernel/lifecycle.ts";

/**
 * WANTED: no machine has room for it. PLACED: a machine is chosen and the boot may begin. STARTING: its program runs and has not
 * yet asked for work. READY: it asks for work or has some. DRAINING: it gets no more and ends with what it has. FAILED: it could not
 * begin, or ended unasked. GONE: nothing of it is left.
 */
export type WorkerState = "WANTED" | "PLACED" | "STARTING" | "READY" | "DRAINING" | "FAILED" | "GONE";
export type WorkerMove = "place" | "start" | "answer" | "drain" | "fail" | "end";

export const workerLifecycle = lifecycle<WorkerState, WorkerMove>({
  place: { from: ["WANTED"], to: "PLACED" },
  start: { from: ["PLACED"], to: "STARTING" },
  answer: { from: ["STARTING"], to: "READY" },
  drain: { from: ["PLACED", "STARTING", "READY"], to: "DRAINING" },
  fail: { from: ["PLACED", "STARTING", "READY", "DRAINING"], to: "FAILED" },
  end: { from: ["WANTED", "PLACED", "DRAINING", "FAILED"], to: "GONE" },
});

export type KeptWorker = {
  endpoint: string;
  /** The release of the endpoint that it was booted from. */
  release: number;
  state: WorkerState;
  image: string;
  /** The machine on which it runs; null while WANTED. */
  machine: string | null;
  vcpu: number;
  memoryMb: number;
  /** Null for a CPU worker. */
  gpuType: string | null;
  gpuCount: number;
  /** Devices of the machine that are its own. */
  gpus: string[];
  /** Id of the key with which it reaches its own routes. */
  keyId: string | null;
  startedAt: number | null;
  /** When it first asked for work. */
  readyAt: number | null;
  failedAt: number | null;
  /** Why it waits, drains or failed, in words for people. */
  reason: string | null;
};

export const workers: Kept<KeptWorker> = { kind: "worker", v: 1 };

/** The stream that a worker's lines are kept in. */
export const workerLog = (endpoint: string, worker: string) => `worker/${endpoint}/${worker}`;
