/** What the desk hears of workers beyond their jobs, for the fleet. */

import type { Admit } from "../kernel/body-memory.ts";
import type { Gone } from "../kernel/gone.ts";
import type { Reason } from "../kernel/reason.ts";

export interface WorkerCall {
  endpoint: string;
  /** The name under which the worker holds jobs; see `holderName`. */
  worker: string;
}

/** How a worker asks for jobs. */
export interface Taking {
  limit: number;
  /** How long it waits for the first. */
  waitMs: number;
  gone: Gone;
  /** Asked before long bodies are loaded; where it refuses, jobs come without them, to be handed back. */
  admit?: Admit;
}

export interface WorkerEvents {
  /** It spoke to this node for the first time, or for the first time after its thaw. */
  heard(call: WorkerCall): void;
  /** It says itself that it cannot work. */
  unfit(call: WorkerCall, reason: Reason): void;
  /** It asks to be replaced once it is done. */
  tired(call: WorkerCall): void;
  /** It was told to stop jobs a while ago and is still busy with them, and with nothing else. */
  stuck(call: WorkerCall): void;
}

/** Told by the desk, and heard by whoever keeps workers, who is made after the desk. */
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

  tired(call: WorkerCall): void {
    for (const listener of this.#listeners) listener.tired(call);
  }

  stuck(call: WorkerCall): void {
    for (const listener of this.#listeners) listener.stuck(call);
  }
}

export const nobodyKeepsWorkers: WorkerEvents = { heard() {}, unfit() {}, tired() {}, stuck() {} };
