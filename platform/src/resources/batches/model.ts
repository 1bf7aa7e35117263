/** Batches: many requests to one endpoint that are gathered first, then become jobs together, and are counted together. */
import { lifecycle } from "../../kernel/lifecycle.ts";

export type BatchStatus = "DRAFT" | "FINALIZED" | "FAILED" | "CANCELLED";

/** A finalized batch stays that when all has ended, unless nothing of it succeeded. */
export const batchLifecycle = lifecycle<BatchStatus, "finalize" | "cancel" | "fail">({
  finalize: { from: ["DRAFT"], to: "FINALIZED" },
  cancel: { from: ["DRAFT", "FINALIZED"], to: "CANCELLED" },
  fail: { from: ["FINALIZED"], to: "FAILED" },
});

export const BATCH_LIMITS = {
  /** Batches of an endpoint that have not ended, drafts included. */
  active: 10,
  /** Requests of one batch. */
  requests: 5000,
  /** Jobs that may wait at an endpoint when a batch comes to them. */
  queued: 50_000,
  /** Batches that are kept of an endpoint, ended ones included. */
  kept: 100,
  displayName: 255,
};

/** How requests of a batch end. */
export type RequestEnd = "COMPLETED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export interface RequestCounts {
  inQueue: number;
  inProgress: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** A batch as callers read it; times are milliseconds since 1970. */
export interface Batch {
  id: string;
  endpointId: string;
  status: BatchStatus;
  displayName?: string;
  requestTotal: number;
  requestInQueue: number;
  requestInProgress: number;
  requestCompleted: number;
  requestFailed: number;
  requestCancelled: number;
  createdAt: number;
  finalizedAt?: number;
  completedAt?: number;
}
