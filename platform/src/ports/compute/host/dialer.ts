/** Connections to what listens on an instance's own loopback, where the machine's network does not reach. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../../../kernel/clock.ts";
import type { Answer, Ask } from "./dialer-process.ts";
import { TOOL_ENVIRONMENT } from "./tools.ts";

const PROGRAM = join(import.meta.dirname, "dialer-process.ts");
/** Until its process ends for want of use; it takes 45 MB. */
const IDLE_MS = 60_000;

/** One process inside the network of one instance, started with the first connection. A connection is passed whole: no byte goes through it. */
export class Dialer {
  readonly #enter: readonly string[];
  readonly #clock: Clock;
  readonly #waiting = new Map<number, PromiseWithResolvers<Duplex>>();
  #process: ChildProcess | undefined;
  #idle: Timer | undefined;
  #asked = 0;

  /** `enter` is the command that runs another one inside that network. */
  constructor(enter: readonly string[], clock: Clock) {
    this.#enter = enter;
    this.#clock = clock;
  }

  async dial(host: string, port: number): Promise<Duplex> {
    this.#idle?.cancel();
    this.#process ??= this.#start();
    const number = ++this.#asked;
    const answer = Promise.withResolvers<Duplex>();
    this.#waiting.set(number, answer);
    this.#process.send({ number, host, port } satisfies Ask);
    try {
      return await answer.promise;
    } finally {
      this.#waiting.delete(number);
      this.#idle = this.#clock.after(IDLE_MS, () => void this.close());
    }
  }

  #start(): ChildProcess {
    const [command, ...args] = [...this.#enter, process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM];
    const child = spawn(command!, args, { stdio: ["ignore", "ignore", "ignore", "ipc"], env: TOOL_ENVIRONMENT });
    child.on("message", ({ number, error }: Answer, socket) => {
      const waiting = this.#waiting.get(number);
      if (error !== undefined) waiting?.reject(new Error(error));
      else if (waiting) waiting.resolve(socket as Socket);
      else (socket as Socket).destroy();
    });
    child.on("error", (error) => this.#ended(child, error));
    child.on("exit", () => this.#ended(child, new Error("the instance's network cannot be entered")));
    child.unref();
    child.channel?.unref();
    return child;
  }

  #ended(child: ChildProcess, error: Error): void {
    if (this.#process === child) this.#process = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
  }

  /** The instance's network is left at once; connections that were made stay. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    this.#process = undefined;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}
