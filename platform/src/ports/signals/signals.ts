/** The signals port: hints from the part that changed something to those that wait for it. Never the truth, only a reason to look. */

/**
 * Jobs wait on an endpoint; a job ended; a chunk came; a worker must stop jobs; an endpoint is gone with all its jobs; there is
 * someone to be told of an end; those who keep workers have something to look at; records of an account changed or were removed, while somebody
 * follows accounts.
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
  /** Whether every signal arrives. If not, those that wait also look by themselves now and then. */
  readonly reliable: boolean;
  emit(topic: Topic, count?: number): void;
  /** Returns how to stop listening. */
  listen(topic: Topic, heard: (count: number) => void): () => void;
}
