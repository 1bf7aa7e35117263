/** What the worker desk reports to the fleet about workers, other than their jobs. */

import type { Admit } from "../kernel/body-memory.ts";
import type { Gone } from "../kernel/gone.ts";
import type { Reason } from "../kernel/reason.ts";

export interface WorkerCall {
  endpoint: string;
  /** The name under which the worker holds jobs, see `holderName`. */
  worker: string;
}

/** How a worker asks for jobs. */
export interface Taking {
  limit: number;
  /** How long the worker waits for the first job. */
  waitMs: number;
  gone: Gone;
  /** Called before long bodies are loaded. If it refuses, the jobs come without bodies and must be handed back. */
  admit?: Admit;
}

export interface WorkerEvents {
  /** The worker talked to this node for the first time, or for the first time after its thaw. */
  heard(call: WorkerCall): void;
  /** The worker itself says that it cannot work. */
  unfit(call: WorkerCall, reason: Reason): void;
  /** The worker is to be replaced once its job is done. */
  tired(call: WorkerCall, why: Reason): void;
  /** The worker was told to stop its jobs a while ago and still runs them, and nothing else. */
  stuck(call: WorkerCall): void;
}

/** Passes events from the worker desk to the fleet, which is created after the desk. */
export class WorkerNews implements WorkerEvents {
  readonly #listeners = new Set<WorkerEvents>();

  hear(listener: WorkerEvents): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  heard(call: WorkerCall): void {
    for (const listener of this.#listeners) listener.heard(call);
  }

  unfit(call: WorkerCall, reason: Reason): void {
    for (const listener of this.#listeners) listener.unfit(call, reason);
  }

  tired(call: WorkerCall, why: Reason): void {
    for (const listener of this.#listeners) listener.tired(call, why);
  }

  stuck(call: WorkerCall): void {
    for (const listener of this.#listeners) listener.stuck(call);
  }
}

export const nobodyKeepsWorkers: WorkerEvents = { heard() {}, unfit() {}, tired() {}, stuck() {} };
