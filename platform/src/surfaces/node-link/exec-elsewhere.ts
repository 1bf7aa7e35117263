/** A program that runs in an instance on another node's machine. */
import type { Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { problem } from "../../kernel/problem.ts";
import { checkSize, type ExecSpec, type Execution, type TerminalSize } from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { ExecRefused } from "../../ports/compute/refusal.ts";
import { type Began, ExecWire, jsonIn, type Kind } from "./exec-wire.ts";

/** Starts the program over a connection that belongs to it from then on. Throws ExecRefused, or a problem when the connection breaks. */
export async function beginElsewhere(socket: Socket, spec: ExecSpec, clock: Clock): Promise<Execution> {
  const execution = new ExecutionElsewhere(socket, clock);
  await execution.begin(spec);
  return execution;
}

class ExecutionElsewhere implements Execution {
  readonly stdin: Writable;
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exit: Promise<Exit>;
  readonly #socket: Socket;
  readonly #wire: ExecWire;
  readonly #clock: Clock;
  readonly #begun = Promise.withResolvers<void>();
  readonly #exited = Promise.withResolvers<Exit>();
  #isClosed = false;
  /** Set once the program has begun, if its driver can send signals. */
  signal?: (name: NodeJS.Signals) => Promise<void>;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.#wire = new ExecWire(socket);
    this.exit = this.#exited.promise;
    this.stdin = new Writable({
      write: (chunk, _, done) =>
        floating(
          this.#wire.sendOf("stdin", chunk).then(() => done(), done),
          () => {},
        ),
      final: (done) => {
        this.#wire.send("end", { stream: "stdin" });
        done();
      },
    });
    // The error is ignored: a close follows, and it says all that matters.
    for (const stream of [socket, this.stdin, this.stdout, this.stderr]) stream.on("error", () => {});
  }

  begin(spec: ExecSpec): Promise<void> {
    const heard = this.#wire.read((kind, payload) => this.#hear(kind, payload));
    const over = () => this.#over();
    floating(heard.then(over), over);
    this.#wire.send("begin", spec);
    return this.#begun.promise;
  }

  #hear(kind: Kind, payload: Buffer): void {
    if (kind === "began") this.#began(jsonIn(payload) as Began);
    else if (kind === "refused") this.#begun.reject(new ExecRefused((jsonIn(payload) as { message: string }).message));
    else if (kind === "exit") this.#exited.resolve(jsonIn(payload) as Exit);
    else if (kind === "end") this[(jsonIn(payload) as { stream: "stdout" | "stderr" }).stream].end();
    else if (kind === "stdout" || kind === "stderr")
      this[kind].write(payload, () => this.#wire.taken(kind, payload.length));
  }

  #began({ sendsSignals = true }: Began): void {
    if (sendsSignals) this.signal = async (name) => this.#wire.send("signal", { name });
    this.#begun.resolve();
  }

  /** Has no effect after the exit was reported. */
  #over(): void {
    const why = this.#isClosed ? "its caller went away" : "the connection to its node broke";
    this.#begun.reject(problem("no-answer", why));
    this.#exited.resolve({ code: null, signal: "SIGHUP", at: this.#clock.now(), reason: why });
    for (const stream of [this.stdout, this.stderr]) stream.end();
    this.stdin.destroy();
    this.#socket.destroy();
  }

  async resize(wanted: TerminalSize): Promise<void> {
    checkSize(wanted);
    this.#wire.send("resize", wanted);
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }
}
