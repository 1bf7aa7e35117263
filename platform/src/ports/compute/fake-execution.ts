/** An execution in an instance of the fake driver. A test plays its program. */
import { PassThrough, type Readable } from "node:stream";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { checkSize, type ExecSpec, type Execution, HANG_UP_MS, type TerminalSize, writeTo } from "./execution.ts";
import type { Exit } from "./exit.ts";

/** Tests use the program's side of this class; callers see it as an Execution. */
export class FakeExecution implements Execution {
  readonly spec: ExecSpec;
  /** All variables that the program would find. */
  readonly env: Readonly<Record<string, string>>;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly exit: Promise<Exit>;
  size: TerminalSize | undefined;
  /** What the program does on a signal, on a new terminal size, and when it is hung up. */
  onSignal: (name: NodeJS.Signals) => void = (signal) => this.end({ signal });
  onResize: (size: TerminalSize) => void = () => {};
  onHangUp: () => void = () => this.end({ signal: "SIGHUP" });

  readonly #clock: Clock;
  readonly #resolve: (exit: Exit) => void;
  #hangUp: Timer | undefined;
  #hasEnded = false;

  constructor(spec: ExecSpec, env: Readonly<Record<string, string>>, clock: Clock) {
    this.spec = spec;
    this.env = env;
    this.size = spec.terminal;
    this.#clock = clock;
    const exit = Promise.withResolvers<Exit>();
    this.exit = exit.promise;
    this.#resolve = exit.resolve;
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.on("error", () => {});
    if (spec.terminal) this.stderr.end();
  }

  /** What the caller sends. */
  get input(): Readable {
    return this.stdin;
  }

  /** Writes this as the program, and waits until it is read. */
  async write(text: string | Buffer, stream: "stdout" | "stderr" = "stdout"): Promise<void> {
    const to = this.spec.terminal ? this.stdout : this[stream];
    await writeTo(to, text);
  }

  /** Ends the program. */
  end({ code = null, signal }: { code?: number | null; signal?: string }): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#hangUp?.cancel();
    for (const stream of [this.stdout, this.stderr]) stream.end();
    this.stdin.destroy();
    this.#resolve({ code, ...(signal !== undefined && { signal }), at: this.#clock.now() });
  }

  async resize(size: TerminalSize): Promise<void> {
    checkSize(size);
    if (!this.spec.terminal || this.#hasEnded) return;
    this.size = size;
    this.onResize(size);
  }

  async signal(name: NodeJS.Signals): Promise<void> {
    if (this.#hasEnded) return;
    if (name === "SIGKILL") this.end({ signal: name });
    else this.onSignal(name);
  }

  close(): void {
    if (this.#hasEnded || this.#hangUp) return;
    this.#hangUp = this.#clock.after(HANG_UP_MS, () => this.end({ signal: "SIGKILL" }));
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
    this.onHangUp();
  }
}

/** Returns the execution as a driver would that cannot send signals. */
export function withoutSignals(execution: Execution): Execution {
  const { stdin, stdout, stderr, exit } = execution;
  const { resize, close } = { resize: execution.resize.bind(execution), close: execution.close.bind(execution) };
  return { stdin, stdout, stderr, exit, resize, close };
}
