/** The border of a node's process: every call that leaves it takes time, may fail, and its answer waits while the process is frozen. */
import { problem } from "../../../src/kernel/problem.ts";
import type { Life } from "../life.ts";
import type { FleetWorld } from "./world.ts";

const never = () => new Promise<never>(() => undefined);

type Calls = Record<string, (...given: never[]) => unknown>;

export class Border {
  readonly #world: FleetWorld;
  readonly #life: Life;

  constructor(world: FleetWorld, life: Life) {
    this.#world = world;
    this.#life = life;
  }

  /**
   * Makes a call of the process to something outside it. What has left the process arrives even if the process dies on the way. A failed
   * call may have been made all the same.
   */
  async cross<T>(work: () => Promise<T>, canFail = false): Promise<T> {
    if (this.#life.isDead || !this.#world.standstill.called()) return never();
    await this.#transit();
    if (canFail && this.#world.isStoreDown) {
      if (this.#world.random.chance(0.3)) await work().catch(() => undefined);
      await this.#home();
      throw problem("unavailable", "the database cannot be reached");
    }
    try {
      return await work();
    } finally {
      await this.#transit();
      await this.#home();
    }
  }

  /** Wraps these calls of a target. Everything else goes to the target directly. */
  around<T extends object>(
    target: T,
    names: ReadonlySet<string>,
    { canFail = false, before = (_: string) => {} } = {},
  ): T {
    const wrapped = new Map<string, unknown>();
    const wrap = (name: string, value: (...given: never[]) => Promise<unknown>) =>
      names.has(name)
        ? (...given: never[]) =>
            this.cross(() => {
              before(name);
              return value.apply(target, given);
            }, canFail)
        : value.bind(target);
    return new Proxy(target, {
      get: (_, name) => {
        const value = (target as Calls)[name as string];
        if (typeof value !== "function") return value;
        let call = wrapped.get(name as string);
        if (!call) {
          call = wrap(name as string, value as never);
          wrapped.set(name as string, call);
        }
        return call;
      },
    });
  }

  /** Most calls take no time, so that a history is short. Others take some, so that calls of several nodes overlap in every order. */
  async #transit(): Promise<void> {
    const { random, mix, timeline } = this.#world;
    if (!random.chance(mix.calls.slow)) return;
    await new Promise<void>((resolve) => timeline.after(random.below(mix.calls.slowMs), resolve));
  }

  async #home(): Promise<void> {
    if (this.#life.isDead) return never();
    if (this.#life.isAsleep) await new Promise<void>((resolve) => this.#life.reach(resolve));
  }
}
