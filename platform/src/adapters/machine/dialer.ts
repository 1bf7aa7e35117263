/** Connects to ports on an instance's own loopback, which the machine's network does not reach. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Answer, Ask } from "./dialer-process.ts";
import { TOOL_ENVIRONMENT } from "./tools.ts";

const PROGRAM = join(import.meta.dirname, "dialer-process.ts");
/** How long the unused process stays. It takes 45 MB. */
const IDLE_MS = 60_000;
/** A listener with a full queue never answers. After this time the caller gets an error. */
const ANSWER_MS = 10_000;

/** A process inside the network, and the callers that wait for a connection from it. */
interface Inside {
  child: ChildProcess;
  waiting: Map<number, PromiseWithResolvers<Duplex>>;
}

/**
 * One process inside the network of one instance, started with the first connection. It passes whole connections to the server, so no byte
 * goes through it.
 */
export class Dialer {
  readonly #enter: () => readonly string[];
  readonly #clock: Clock;
  readonly #network: string | undefined;
  #inside: Inside | undefined;
  #idle: Timer | undefined;
  #asked = 0;

  /**
   * `enter` returns the command that runs another command inside the network; it is called at each start. A process that finds itself in
   * another network than `network` does nothing.
   */
  constructor(enter: () => readonly string[], clock: Clock, network?: string) {
    this.#enter = enter;
    this.#clock = clock;
    this.#network = network;
  }

  /** Whether a caller waits for a connection. */
  get isUsed(): boolean {
    return (this.#inside?.waiting.size ?? 0) > 0;
  }

  async dial(host: string, port: number): Promise<Duplex> {
    this.#idle?.cancel();
    this.#inside ??= this.#start();
    const { child, waiting } = this.#inside;
    const number = ++this.#asked;
    const answer = Promise.withResolvers<Duplex>();
    waiting.set(number, answer);
    const late = this.#clock.after(ANSWER_MS, () => answer.reject(new Error(`no answer in ${ANSWER_MS / 1000} s`)));
    try {
      // A process that could not be started has no channel. Its error gives the reason.
      if (child.connected) child.send({ number, host, port } satisfies Ask);
      return await answer.promise;
    } finally {
      late.cancel();
      waiting.delete(number);
      if (waiting.size === 0) this.#closeWhenIdle();
    }
  }

  #start(): Inside {
    const program = [process.execPath, "--disable-warning=ExperimentalWarning", PROGRAM, this.#network ?? ""];
    const [command, ...args] = [...this.#enter(), ...program];
    const child = spawn(command!, args, { stdio: ["ignore", "ignore", "ignore", "ipc"], env: TOOL_ENVIRONMENT });
    const waiting: Inside["waiting"] = new Map();
    const inside = { child, waiting };
    child.on("message", (answer: Answer, socket) => handOver(waiting.get(answer.number), answer, socket as Socket));
    child.on("error", (error) => this.#ended(inside, error.message));
    child.on("exit", () => this.#ended(inside, "its process ended"));
    child.unref();
    child.channel?.unref();
    return inside;
  }

  #ended(inside: Inside, why: string): void {
    if (this.#inside === inside) this.#inside = undefined;
    for (const { reject } of inside.waiting.values())
      reject(new Error(`the instance's network cannot be entered: ${why}`));
    inside.child.kill("SIGKILL");
  }

  #closeWhenIdle(): void {
    this.#idle?.cancel();
    this.#idle = this.#clock.after(IDLE_MS, () => floating(this.close(), () => {}));
  }

  /** Leaves the instance's network at once. Existing connections stay. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    const child = this.#inside?.child;
    this.#inside = undefined;
    if (!child?.pid || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }
}

/**
 * A connection that broke while it was passed on does not arrive. A listener is attached at once, since an unheard error would end the
 * server.
 */
function handOver(waiting: PromiseWithResolvers<Duplex> | undefined, { error }: Answer, socket: Socket | undefined) {
  socket?.on("error", () => {});
  if (waiting && socket) waiting.resolve(socket);
  else {
    socket?.destroy();
    waiting?.reject(new Error(error ?? "the connection was broken as soon as it was made"));
  }
}
