/** Remembers the last reported state of each instance, so that listeners hear of every change once and in order. */
import type { Instance } from "../../ports/compute/compute.ts";

/** An instance and the container in which it was seen. */
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
    // A new function each time, so that a listener that subscribes twice is called twice.
    const own = (instance: Instance) => listener(instance);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Records an instance without reporting it: the keeper that opens a driver asks for the list instead. */
  learn(instance: Instance, container: string): void {
    this.#known.set(instance.id, { instance, container });
  }

  hear(instance: Instance, container: string): void {
    const known = this.#known.get(instance.id);
    const isSame = known?.container === container;
    if (isSame && known.instance.state === instance.state) return;
    this.learn(instance, container);
    // A program may have ended before anyone looked. Listeners still hear that it ran.
    if (!isSame && instance.state === "exited") this.#tell(asRunning(instance));
    this.#tell(instance);
  }

  /** The last reported instance, if this is still its container. */
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

  /** Instances that had not ended when they were last reported. */
  alive(): { instance: Instance; container: string }[] {
    return [...this.#known.values()].filter(({ instance }) => instance.state !== "exited");
  }

  #tell(instance: Instance): void {
    for (const listener of [...this.#listeners]) listener(instance);
  }
}

const asRunning = ({ exit: _, ...instance }: Instance): Instance => ({ ...instance, state: "running" });
