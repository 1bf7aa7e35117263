/** Runs programs inside instances on this node's own machines. Their input counts as use of what the instance runs for. */
import { Writable } from "node:stream";
import type { Clock } from "../kernel/clock.ts";
import { whyLacking } from "../ports/compute/abilities.ts";
import type { ExecSpec, Execution } from "../ports/compute/execution.ts";
import { ExecRefused } from "../ports/compute/refusal.ts";
import type { OwnMachine } from "./own-machine.ts";
import { StartGate, type StartLimits } from "./start-gate.ts";

export interface OwnExecutionsParts {
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Notes that what an instance runs for is in use, until it is disposed. */
  used: (owner: string) => Disposable;
  clock: Clock;
}

/** Where an instance is, what it runs for, and which account owns that. */
export interface InstanceSite {
  account: string;
  machine: string;
  instance: string;
  owner: string;
}

/**
 * Starting an execution on the host blocks the whole server for about 40 ms, so one account must not start many at once. The rate is not
 * lower, because a file copy over SFTP starts one for each file.
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

  /** Runs a program on one of this node's machines. Accounts take turns. Throws ExecRefused. */
  async exec({ account, machine, instance, owner }: InstanceSite, spec: ExecSpec): Promise<Execution> {
    using _ = await this.#gate.enter(account, instance);
    const { compute } = this.#parts.own.find(({ id }) => id === machine)!;
    if (!compute.exec) throw new ExecRefused(whyLacking(compute, "exec"));
    return noticing(await compute.exec.run(instance, spec), () => this.#parts.used(owner)[Symbol.dispose]());
  }
}

/** An open terminal that nobody types into does not count as use, so only input counts. */
function noticing(execution: Execution, notice: () => void): Execution {
  const { stdin: inner, stdout, stderr, exit } = execution;
  const stdin = new Writable({
    // When all input is written, the program may not have read the last of it yet.
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
  // The exit reports that the program no longer reads its input, so these errors are ignored.
  for (const stream of [stdin, inner]) stream.on("error", () => {});
  inner.once("close", () => stdin.destroy());
  return {
    ...{ stdin, stdout, stderr, exit },
    resize: (size) => execution.resize(size),
    ...(execution.signal && { signal: (name) => execution.signal!(name) }),
    close: () => execution.close(),
  };
}
