/** Programs that are run in instances of this node's own machines, whose input counts as use of what the instance runs for. */
import { Writable } from "node:stream";
import type { Clock } from "../kernel/clock.ts";
import { whyLacking } from "../ports/compute/abilities.ts";
import type { ExecSpec, Execution } from "../ports/compute/execution.ts";
import { ExecRefused } from "../ports/compute/refusal.ts";
import type { OwnMachine } from "./own-machine.ts";
import { StartGate, type StartLimits } from "./start-gate.ts";

export interface OwnExecutionsParts {
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Notes that somebody uses what an instance runs for, until it is disposed. */
  used: (owner: string) => Disposable;
  clock: Clock;
}

/** Where an instance is, what it runs for and whose that is. */
export interface InstanceSite {
  account: string;
  machine: string;
  instance: string;
  owner: string;
}

/**
 * To start one on the host stops the whole server for some 40 ms: whoever asks for many at once holds up nobody else. Not fewer in a second,
 * since who copies files over SFTP has one for each.
 */
const LIMITS: StartLimits = { atOnce: 1, perSecond: 10, saved: 50 };

export class OwnExecutions {
  readonly #parts: OwnExecutionsParts;
  readonly #gate: StartGate;

  constructor(parts: OwnExecutionsParts) {
    this.#parts = parts;
    this.#gate = new StartGate(parts.clock, () => LIMITS);
  }

  isHere(machine: string): boolean {
    return this.#parts.own.some(({ id }) => id === machine);
  }

  /** On a machine that is here, accounts in turn. Throws ExecRefused. */
  async exec({ account, machine, instance, owner }: InstanceSite, spec: ExecSpec): Promise<Execution> {
    using _ = await this.#gate.enter(account, instance);
    const { compute } = this.#parts.own.find(({ id }) => id === machine)!;
    if (!compute.exec) throw new ExecRefused(whyLacking(compute, "exec"));
    return noticing(await compute.exec.run(instance, spec), () => this.#parts.used(owner)[Symbol.dispose]());
  }
}

/** Whoever leaves a terminal open and goes away does not use it: what is typed counts, and nothing else. */
function noticing(execution: Execution, notice: () => void): Execution {
  const { stdin: inner, stdout, stderr, exit } = execution;
  const stdin = new Writable({
    // What was written last may still be unread when all is written.
    autoDestroy: false,
    write(chunk, _, done) {
      notice();
      inner.write(chunk, done);
    },
    final(done) {
      inner.end();
      done();
    },
    destroy(error, done) {
      inner.destroy();
      done(error);
    },
  });
  // That nobody takes it any more is told by the exit.
  for (const stream of [stdin, inner]) stream.on("error", () => {});
  inner.once("close", () => stdin.destroy());
  return {
    ...{ stdin, stdout, stderr, exit },
    resize: (size) => execution.resize(size),
    ...(execution.signal && { signal: (name) => execution.signal!(name) }),
    close: () => execution.close(),
  };
}
