/** Observes the containers of one installation and reports each change once and in order. */
import type { Clock } from "../../kernel/clock.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import type { Instance } from "../../ports/compute/compute.ts";
import { statusOf } from "../machine/exit-status.ts";
import { instanceOf, label } from "./container.ts";
import type { Containers } from "./containers.ts";
import type { EngineEvent } from "./engine-events.ts";
import { asLost, type Seen, StateBook } from "./state-book.ts";

export interface SightParts {
  clock: Clock;
  containers: () => Promise<Containers>;
  /** Whether this process is starting the instance. It will report by itself when the instance runs. */
  isComing: (id: string) => boolean;
  /** Why the platform ended an instance for good. */
  verdictOf: (id: string) => string | undefined;
}

export class Sight {
  readonly book = new StateBook();
  readonly #parts: SightParts;
  /** Looks never overlap, so that a later observation is also reported later. */
  readonly #looks = new OneAtATime();
  /** Looks at one container that have not begun. */
  readonly #waiting = new Map<string, Promise<Instance | undefined>>();
  readonly #removing = new Set<string>();

  constructor(parts: SightParts) {
    this.#parts = parts;
  }

  list(): Promise<Instance[]> {
    return this.#looks.run(async () => {
      const seen = await this.#seen();
      for (const one of seen) this.#hear(one);
      return seen.map(({ instance }) => instance);
    });
  }

  /**
   * The first look only records the instances, since the caller gets them from `list`. Later looks report the changes that happened while
   * the engine was away.
   */
  lookAtAll(isFirst: boolean): Promise<Instance[]> {
    return this.#looks.run(async () => {
      const seen = await this.#seen();
      if (isFirst) for (const { instance, container } of seen) this.book.learn(instance, container);
      else this.#hearAll(seen);
      return seen.map(({ instance }) => instance);
    });
  }

  async happened({ Action, Actor, time }: EngineEvent): Promise<void> {
    const { ID: container, Attributes: labels } = Actor;
    if ((await this.look(container)) || Action !== "die") return;
    // Someone else removed the container before this look. The event itself says how it ended.
    const instance = this.book.known(labels[label.instance]!, container);
    const exit = { ...statusOf(Number(labels.exitCode)), at: time * 1_000 };
    if (instance) this.#hear({ instance: this.#judged({ ...instance, state: "exited", exit }), container });
  }

  /** A look that has not begun yet serves all who ask for it. */
  look(container: string): Promise<Instance | undefined> {
    const waiting = this.#waiting.get(container);
    if (waiting) return waiting;
    const look = this.#looks.run(async () => {
      this.#waiting.delete(container);
      const found = await (await this.#parts.containers()).inspect(container);
      if (!found) return undefined;
      const instance = this.#judged(instanceOf(found));
      this.#hear({ instance, container });
      return instance;
    });
    this.#waiting.set(container, look);
    return look;
  }

  /** Neither the removal nor the end that comes with it is reported. */
  async without(id: string, remove: () => Promise<void>): Promise<void> {
    this.#removing.add(id);
    try {
      await remove();
    } finally {
      this.book.forget(id);
      this.#removing.delete(id);
    }
  }

  #hearAll(seen: readonly Seen[]): void {
    const { clock } = this.#parts;
    for (const one of seen) this.#hear(one);
    const present = new Set(seen.map(({ container }) => container));
    for (const lost of this.book.alive()) if (!present.has(lost.container)) this.#hear(asLost(lost, clock.now()));
  }

  #hear({ instance, container }: Seen): void {
    if (!this.#removing.has(instance.id)) this.book.hear(instance, container);
  }

  async #seen(): Promise<Seen[]> {
    const containers = await this.#parts.containers();
    const isOnItsWay = (state: string, id: string) => state === "created" && this.#parts.isComing(id);
    const listed = (await containers.list()).filter((one) => !isOnItsWay(one.State, one.Labels[label.instance]!));
    const found = await Promise.all(listed.map(({ Id }) => containers.inspect(Id)));
    return found
      .filter((one) => one !== undefined)
      .map((one) => ({ instance: this.#judged(instanceOf(one)), container: one.Id }));
  }

  #judged(instance: Instance): Instance {
    const reason = instance.exit && this.#parts.verdictOf(instance.id);
    return reason === undefined
      ? instance
      : { ...instance, exit: { ...instance.exit!, reason, cause: "filled-disk", isFinal: true } };
  }
}
