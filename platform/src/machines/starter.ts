/** Starts instances of one machine: the image first, then, in turns, the program. The same for every kind. */
import type { Clock } from "../kernel/clock.ts";
import type { Reason } from "../kernel/reason.ts";
import type { Compute, Instance, InstanceSpec, RegistryCredential } from "../ports/compute/compute.ts";
import { ImageDenied } from "../ports/compute/images.ts";
import type { Images } from "./images.ts";
import { Pulls } from "./pulls.ts";
import { StartGate, startLimits } from "./start-gate.ts";

export interface StarterParts {
  compute: Compute;
  images: Images;
  clock: Clock;
  /** Makes a network volume what its record says, before a program mounts it; one of another kind is as it is. */
  ensureVolume?: (id: string) => Promise<void>;
}

export interface Beginning {
  id: string;
  account: string;
  image: string;
  /** Where it was given room. */
  box: string;
  credential?: RegistryCredential | undefined;
  /** What else is said where the registry does not let it be pulled. */
  ifDenied?: string | undefined;
  /** Lines for the instance's own log. */
  say: (line: string) => void;
  /** Whether it is to be left, looked at before each step. */
  isOver: () => boolean;
  /** What is to be started, made at the last moment; undefined when it is not to be any more. */
  spec: () => Promise<InstanceSpec | undefined>;
}

/** A program that runs, and what its start took. */
export interface Begun {
  instance: Instance;
  times: { placed: number; prepared: number; created: number };
}

export class Starter {
  readonly #parts: StarterParts;
  readonly #pulls: Pulls;
  readonly #gate: StartGate;
  #vcpu: number | undefined;

  constructor(parts: StarterParts) {
    this.#parts = parts;
    this.#pulls = new Pulls(parts.clock);
    this.#gate = new StartGate(parts.clock, () => startLimits(this.#vcpu ?? 1));
  }

  /** A start of this instance that has not begun never does. */
  giveUp(id: string): void {
    this.#gate.giveUp(id);
  }

  /** How far the image is that an instance waits for. */
  progressOf(id: string): Reason | undefined {
    return this.#pulls.reasonOf(id);
  }

  /** Rejects when there is no program in the end. Undefined when nothing was started, since it was not to be any more. */
  async begin(beginning: Beginning): Promise<Begun | undefined> {
    const { compute, clock } = this.#parts;
    const { id, account, isOver } = beginning;
    const placed = clock.now();
    const image = await this.#prepare(beginning);
    this.#vcpu ??= sum((await compute.capacity()).map(({ vcpu }) => vcpu));
    using turn = await this.#gate.enter(account, id);
    if (!turn || isOver()) return undefined;
    const prepared = clock.now();
    const spec = await beginning.spec();
    if (!spec || isOver()) return undefined;
    for (const { volume } of spec.mounts ?? []) await this.#parts.ensureVolume?.(volume);
    const credential = compute.preparing ? undefined : beginning.credential;
    const instance = await compute.start(id, { ...spec, image, ...(credential && { credential }) });
    return { instance, times: { placed, prepared, created: clock.now() } };
  }

  /** The exact image that is to be started, once it is on the machine. */
  async #prepare({ id, account, image, box, credential, ifDenied, say }: Beginning): Promise<string> {
    const pull = this.#pulls.follow(id, image);
    const progress = (line: string) => {
      pull.progress(line);
      say(`pulling image ${image}: ${line}`);
    };
    try {
      return await this.#parts.images.prepare({ ...pull, image, account, box, credential, progress });
    } catch (error) {
      if (!ifDenied || !(error instanceof ImageDenied)) throw error;
      throw new ImageDenied(`${error.message}: ${ifDenied}`, { cause: error });
    } finally {
      this.#pulls.end(id);
    }
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
