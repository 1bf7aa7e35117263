/** Which caller each worker boot of the embedded queue works for. A binding is durable before its first job is handed out. */
import type { Binding, Journal } from "./journal.ts";
import type { Ask, HolderState } from "./queue.ts";

export class Bindings {
  readonly #bound = new Map<string, Binding>();
  /** Bindings that are not on disk yet. */
  readonly #writing = new Map<string, Promise<unknown>>();
  readonly #journal: Pick<Journal, "bindings" | "write">;

  constructor(journal: Pick<Journal, "bindings" | "write">) {
    this.#journal = journal;
    this.load();
  }

  load(): void {
    this.#bound.clear();
    for (const binding of this.#journal.bindings()) this.#bound.set(binding.holder, binding);
  }

  /** Whether this holder may have the jobs that it asks for. */
  allows({ holder, of }: Ask): boolean {
    return of === undefined || (this.#bound.get(holder)?.caller ?? of) === of;
  }

  /** Resolves when the binding is durable. */
  async bind({ holder, endpoint, of: caller }: Ask): Promise<void> {
    if (caller === undefined) return;
    if (!this.#bound.has(holder)) {
      const binding = { holder, endpoint, caller };
      this.#bound.set(holder, binding);
      this.#writing.set(holder, this.#journal.write([{ do: "bind", binding }]));
    }
    try {
      await this.#writing.get(holder);
    } finally {
      this.#writing.delete(holder);
    }
  }

  async unbind(holder: string): Promise<void> {
    if (this.#bound.delete(holder)) await this.#journal.write([{ do: "unbind", holder }]);
  }

  removeEndpoint(endpoint: string): void {
    for (const [holder, binding] of this.#bound) if (binding.endpoint === endpoint) this.#bound.delete(holder);
  }

  /** The holders with the callers that they are bound to. */
  shownWith(holders: HolderState[]): HolderState[] {
    if (this.#bound.size === 0) return holders;
    return holders.map((state) => {
      const bound = this.#bound.get(state.holder);
      return bound ? { ...state, caller: bound.caller } : state;
    });
  }
}
