/** What listeners were told about each instance, so that they hear of every change once and in order. */
import type { Instance } from "../../ports/compute/compute.ts";

/** An instance as a look at its container found it. */
export interface Seen {
  instance: Instance;
  container: string;
}

export function asLost({ instance, container }: Seen, at: number): Seen {
  const exit = { code: null, at, reason: "its container was removed by someone else", cause: "ended-outside" } as const;
  return { instance: { ...instance, state: "exited", exit }, container };
}

export class StateBook {
  readonly #known = new Map<string, { instance: Instance; container: string }>();
  readonly #listeners = new Set<(instance: Instance) => void>();

  watch(listener: (instance: Instance) => void): () => void {
    // A function of its own, so that one that listens twice is called twice.
    const own = (instance: Instance) => listener(instance);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Remembers without a word: the keeper that opens a driver asks it for the list. */
  learn(instance: Instance, container: string): void {
    this.#known.set(instance.id, { instance, container });
  }

  hear(instance: Instance, container: string): void {
    const known = this.#known.get(instance.id);
    const isSame = known?.container === container;
    if (isSame && known.instance.state === instance.state) return;
    this.learn(instance, container);
    // A program may be over before anyone looked; it did run.
    if (!isSame && instance.state === "exited") this.#tell(asRunning(instance));
    this.#tell(instance);
  }

  /** The instance as it was last heard of, if this is still its container. */
  known(id: string, container: string): Instance | undefined {
    const known = this.#known.get(id);
    return known?.container === container ? known.instance : undefined;
  }

  containerOf(id: string): string | undefined {
    return this.#known.get(id)?.container;
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /** Instances that had not ended when they were last heard of. */
  alive(): { instance: Instance; container: string }[] {
    return [...this.#known.values()].filter(({ instance }) => instance.state !== "exited");
  }

  #tell(instance: Instance): void {
    for (const listener of [...this.#listeners]) listener(instance);
  }
}

const asRunning = ({ exit: _, ...instance }: Instance): Instance => ({ ...instance, state: "running" });
