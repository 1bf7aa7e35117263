/** Tells listeners of every change of an instance once and in order, from what is heard of its Pod. */
import type { Instance } from "../../ports/compute/compute.ts";

type Listener = (instance: Instance) => void;

interface Told {
  /** The Pod that it was told of: a later one of the same name is another run. */
  uid: string;
  instance: Instance;
}

export class PodBook {
  readonly #told = new Map<string, Told>();
  readonly #listeners = new Set<Listener>();
  readonly #waiting = new Set<() => void>();

  watch(listener: Listener): () => void {
    // A new function each time, so that a listener that subscribes twice is called twice.
    const own = (instance: Instance) => listener(instance);
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  /** Records an instance without reporting it: the keeper that opens a driver asks for the list instead. */
  learn(uid: string, instance: Instance): void {
    this.#told.set(instance.id, { uid, instance });
  }

  hear(uid: string, instance: Instance): void {
    const before = this.#told.get(instance.id);
    const same = before?.uid === uid ? before.instance : undefined;
    if (!same || same.state !== instance.state || same.waitsFor !== instance.waitsFor) {
      this.learn(uid, instance);
      // A program may have ended before anyone looked. Listeners still hear that it ran.
      if (instance.state === "exited" && same?.state !== "running") this.#tell(asRunning(instance));
      this.#tell(instance);
    }
    this.wake();
  }

  /** Its Pod is gone although nobody asked for that. */
  lose(uid: string, id: string, at: number): void {
    const before = this.#told.get(id);
    if (before?.uid === uid && before.instance.state !== "exited" && before.instance.state !== "refused") {
      const exit = {
        code: null,
        at,
        reason: "its Kubernetes Pod was removed by someone else",
        cause: "ended-outside",
      } as const;
      this.#tell({ ...before.instance, state: "exited", exit });
    }
    this.forget(uid, id);
  }

  forget(uid: string, id: string): void {
    if (this.#told.get(id)?.uid === uid) this.#told.delete(id);
    this.wake();
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const one of waiting) one();
  }

  /** Resolves with the next thing that is heard of any Pod. */
  changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const over = () => {
        signal.removeEventListener("abort", over);
        this.#waiting.delete(over);
        resolve();
      };
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", over);
      this.#waiting.add(over);
    });
  }

  #tell(instance: Instance): void {
    for (const listener of [...this.#listeners]) listener(instance);
  }
}

const asRunning = ({ exit: _, ...instance }: Instance): Instance => ({ ...instance, state: "running" });
