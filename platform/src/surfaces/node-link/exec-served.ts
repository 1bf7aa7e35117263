/** Runs a program for another node, which talks to it over a connection. */
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { floating } from "../../kernel/floating.ts";
import { t } from "../../kernel/schema.ts";
import { assertValid } from "../../kernel/validate.ts";
import type { ExecSpec, Execution, TerminalSize } from "../../ports/compute/execution.ts";
import { type Began, ExecWire, jsonIn, type Kind } from "./exec-wire.ts";

const size = t.Object({ columns: t.Integer(), rows: t.Integer() });
const asked = t.Object({
  cmd: t.Array(t.String()),
  env: t.Optional(t.Record(t.String(), t.String())),
  cwd: t.Optional(t.String()),
  terminal: t.Optional(size),
});
const SIGNAL = /^SIG[A-Z0-9]{2,10}$/;

/** Resolves when the connection is closed. The program ends with it. */
export async function serveExecution(socket: Socket, begin: (spec: ExecSpec) => Promise<Execution>): Promise<void> {
  const served = new ServedExecution(new ExecWire(socket), socket);
  try {
    await served.run(begin);
  } finally {
    socket.destroy();
    served.close();
  }
}

class ServedExecution {
  readonly #wire: ExecWire;
  readonly #socket: Socket;
  #begun: Promise<Execution> | undefined;
  #execution: Execution | undefined;
  #isClosed = false;

  constructor(wire: ExecWire, socket: Socket) {
    this.#wire = wire;
    this.#socket = socket;
  }

  run(begin: (spec: ExecSpec) => Promise<Execution>): Promise<void> {
    return this.#wire.read((kind, payload) => {
      if (kind === "begin" && !this.#begun) {
        this.#begun = begin(assertValid(asked, jsonIn(payload)) as ExecSpec);
        floating(this.#serve(this.#begun), () => this.#socket.destroy());
      } else this.#act(kind, payload);
    });
  }

  async #serve(begun: Promise<Execution>): Promise<void> {
    const execution = await begun.catch((error: Error) => error);
    if (execution instanceof Error) {
      this.#wire.send("refused", { message: execution.message });
      this.#socket.end();
      return;
    }
    this.#execution = execution;
    if (this.#isClosed) return execution.close();
    this.#wire.send("began", { sendsSignals: execution.signal !== undefined } satisfies Began);
    const tell = async () => this.#wire.send("exit", await execution.exit);
    await Promise.all([this.#pass("stdout", execution.stdout), this.#pass("stderr", execution.stderr), tell()]);
    this.#socket.end();
  }

  async #pass(stream: "stdout" | "stderr", from: Readable): Promise<void> {
    try {
      for await (const chunk of from) await this.#wire.sendOf(stream, chunk as Buffer);
    } catch {
      // A broken stream counts as ended. The exit tells what happened to the program.
    }
    this.#wire.send("end", { stream });
  }

  /** Frames that arrive before the program has begun are ignored: the other node must wait until then. */
  #act(kind: Kind, payload: Buffer): void {
    const execution = this.#execution;
    if (!execution) return;
    if (kind === "stdin") execution.stdin.write(payload, () => this.#wire.taken("stdin", payload.length));
    else if (kind === "end") execution.stdin.end();
    else if (kind === "resize") this.#do(execution.resize(assertValid(size, jsonIn(payload)) as TerminalSize));
    else if (kind === "signal") this.#do(execution.signal?.(signalIn(payload)) ?? Promise.resolve());
  }

  /** A failed act, such as a signal to a program that has ended, is no reason to hang up. */
  #do(act: Promise<void>): void {
    floating(act, () => {});
  }

  close(): void {
    this.#isClosed = true;
    this.#execution?.close();
  }
}

function signalIn(payload: Buffer): NodeJS.Signals {
  const { name } = jsonIn(payload) as { name: string };
  if (!SIGNAL.test(name)) throw new Error("no signal");
  return name as NodeJS.Signals;
}
