/** Programs that are run in instances of this node's own machines, whose input counts as use of what the instance runs for. */
import { Writable } from "node:stream";
import type { ExecSpec, Execution } from "../ports/compute/execution.ts";
import type { OwnMachine } from "./own-machine.ts";

export interface OwnExecutionsParts {
  own: readonly Pick<OwnMachine, "id" | "compute">[];
  /** Notes that somebody uses what an instance runs for, until it is disposed. */
  used: (owner: string) => Disposable;
}

/** Where an instance is, and what it runs for. */
export interface InstanceSite {
  machine: string;
  instance: string;
  owner: string;
}

export class OwnExecutions {
  readonly #parts: OwnExecutionsParts;

  constructor(parts: OwnExecutionsParts) {
    this.#parts = parts;
  }

  isHere(machine: string): boolean {
    return this.#parts.own.some(({ id }) => id === machine);
  }

  /** On a machine that is here. Throws ExecRefused. */
  async exec({ machine, instance, owner }: InstanceSite, spec: ExecSpec): Promise<Execution> {
    const { compute } = this.#parts.own.find(({ id }) => id === machine)!;
    return noticing(await compute.exec(instance, spec), () => this.#parts.used(owner)[Symbol.dispose]());
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
    signal: (name) => execution.signal(name),
    close: () => execution.close(),
  };
}
