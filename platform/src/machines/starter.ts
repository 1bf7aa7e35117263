/** Starts instances of any kind on one machine: first it prepares the image, then it starts the programs in turns. */
import type { Clock } from "../kernel/clock.ts";
import type { Instruments } from "../kernel/instruments.ts";
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
  /** Makes a network volume match its record before a program mounts it. Other volumes are unchanged. */
  ensureVolume?: (id: string) => Promise<void>;
  /** Counts starts. Without it, nothing is counted. */
  instruments?: Pick<Instruments, "starts">;
}

export interface Beginning {
  id: string;
  account: string;
  image: string;
  /** The box in which the instance has its place. */
  box: string;
  credential?: RegistryCredential | undefined;
  /** Added to the message if the registry denies the pull. */
  ifDenied?: string | undefined;
  /** Writes a line to the instance's own log. */
  say: (line: string) => void;
  /** Whether to stop starting it. Checked before each step. */
  isOver: () => boolean;
  /** Returns what to start, as late as possible, or undefined if it is no longer wanted. */
  spec: () => Promise<InstanceSpec | undefined>;
}

/** A running program and the times of its start. */
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

  /** Drops a start of this instance that has not begun. */
  giveUp(id: string): void {
    this.#gate.giveUp(id);
  }

  /** The progress of the image that an instance waits for. */
  progressOf(id: string): Reason | undefined {
    return this.#pulls.reasonOf(id);
  }

  /** Rejects if the program could not be started. Resolves with undefined if nothing was started because it was no longer wanted. */
  async begin(beginning: Beginning): Promise<Begun | undefined> {
    const starts = this.#parts.instruments?.starts;
    try {
      const begun = await this.#begin(beginning);
      if (begun) starts?.began(begun.times);
      return begun;
    } catch (error) {
      if (starts) starts.failed++;
      throw error;
    }
  }

  async #begin(beginning: Beginning): Promise<Begun | undefined> {
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

  /** Resolves with the exact image to start, once it is on the machine. */
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
