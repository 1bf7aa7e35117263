/** Which images a machine cannot run at the moment, such as those of a container engine that is stopped or was never installed. */
import type { Clock } from "../kernel/clock.ts";
import { within } from "../kernel/wait.ts";
import type { Absence, Compute } from "../ports/compute/compute.ts";
import type { Runs } from "./need.ts";

/** Why images of a kind cannot run at the moment. Kinds that can are left out. */
export type Away = Readonly<Partial<Record<Runs, Absence>>>;

/** One image of each kind. A driver is away for all images of a kind or for none. */
const IMAGES: readonly (readonly [Runs, string])[] = [
  ["host", "host"],
  ["container", "container"],
];

/** A look at a machine does not wait longer than this. A driver that hangs needs longer to be found out. */
const ANSWER_MS = 1_000;

export interface Asked {
  id: string;
  compute: Pick<Compute, "whyAway">;
}

export class Aways {
  readonly #clock: Clock;
  readonly #known = new Map<string, Away>();
  readonly #asking = new Map<string, Promise<void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asks the drivers of a machine. If they do not answer soon, this is what was last known, and the answer is there at a later look. */
  async of(machine: Asked): Promise<Away> {
    const { id } = machine;
    const asking = this.#asking.get(id) ?? this.#ask(machine);
    this.#asking.set(id, asking);
    await within(this.#clock, ANSWER_MS, asking);
    return this.#known.get(id) ?? {};
  }

  /** Never rejects: a driver that cannot even tell is away. */
  async #ask({ id, compute }: Asked): Promise<void> {
    const away: { -readonly [kind in keyof Away]: Absence } = {};
    for (const [kind, image] of IMAGES) {
      const absence = await compute.whyAway?.(image).catch(({ message }: Error) => ({ why: message, isNone: false }));
      if (absence) away[kind] = absence;
    }
    this.#known.set(id, away);
    this.#asking.delete(id);
  }
}
