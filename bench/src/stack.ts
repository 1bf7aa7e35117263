/** What the bench measures: a server with its workers and its database, newly started for each phase. */
import type { Target } from "./workload.ts";

export type WorkerKind = "ours" | "single";

export interface Counts {
  waiting: number;
  completed: number;
  failed: number;
}

export interface Running extends AsyncDisposable {
  submit: Target;
  runsync: Target;
  /** The processes whose CPU time counts, including everything they start. */
  pids(): number[];
  startWorker(kind: WorkerKind): Promise<void>;
  counts(): Promise<Counts>;
}

export interface Stack {
  name: string;
  /** Versions, settings and fairness notes, printed with the result. */
  notes: string[];
  start(folder: string): Promise<Running>;
}
