/** The signals port: hints to those who wait that something changed. A signal is never the truth, only a reason to look. */

/**
 * In this order: jobs wait on an endpoint; a job ended; a chunk came; a worker must stop jobs; an endpoint is gone with all its jobs; the
 * part that keeps workers has something to look at; records of an account changed; records were removed; somebody follows accounts; a
 * message about an end must be sent.
 */
export type Topic =
  | `work:${string}`
  | `ended:${string}`
  | `chunk:${string}`
  | `stop:${string}`
  | `removed:${string}`
  | `fleet:${string}`
  | `changed:${string}`
  | `dropped:${string}`
  | "events:watched"
  | "outbox";

export interface Signals extends AsyncDisposable {
  /** Whether every signal arrives. If not, waiting parts also look by themselves now and then. */
  readonly reliable: boolean;
  emit(topic: Topic, count?: number): void;
  /** Calls `heard` at every signal until the returned function is called. */
  listen(topic: Topic, heard: (count: number) => void): () => void;
}
