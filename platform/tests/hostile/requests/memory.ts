/** How much memory a server holds after garbage collection, asked through its debugger, which a signal opens. */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { WebSocket } from "ws";
import { stay } from "../../../src/kernel/clock.ts";
import type { Server } from "../../process.ts";

export interface Vitals {
  rssMb: number;
  /** The main thread's live objects, and the memory of buffers outside the heap. */
  heapMb: number;
  externalMb: number;
  descriptors: number;
}

/** The environment of a server whose debugger will be used. The debugger gets any free port. */
export const DEBUGGABLE = { NODE_OPTIONS: "--inspect-port=127.0.0.1:0" };

const LISTENING = /Debugger listening on (ws:\S+)/;
const LOOK_MS = 20;
const MIB = 1024 * 1024;
/** Objects freed by one collection can make others free in the next. */
const COLLECTIONS = 3;

export class Debugger implements Disposable {
  readonly #socket: WebSocket;
  readonly #pid: number;
  #calls = 0;

  private constructor(socket: WebSocket, pid: number) {
    this.#socket = socket;
    this.#pid = pid;
  }

  static async open({ process, log }: Server): Promise<Debugger> {
    process.kill("SIGUSR1");
    for (let tries = 500; !LISTENING.test(log()); tries--) {
      if (tries === 0) throw new Error("the server's debugger does not listen");
      await stay(LOOK_MS);
    }
    const socket = new WebSocket(LISTENING.exec(log())![1]!);
    await once(socket, "open");
    return new Debugger(socket, process.pid!);
  }

  async vitals(): Promise<Vitals> {
    for (let i = 0; i < COLLECTIONS; i++) await this.#call("HeapProfiler.collectGarbage", {});
    const { result } = (await this.#call("Runtime.evaluate", {
      expression: "JSON.stringify(process.memoryUsage())",
    })) as { result: { value: string } };
    const { rss, heapUsed, external } = JSON.parse(result.value) as NodeJS.MemoryUsage;
    const descriptors = (await readdir(`/proc/${this.#pid}/fd`)).length;
    return { rssMb: mb(rss), heapMb: mb(heapUsed), externalMb: mb(external), descriptors };
  }

  [Symbol.dispose](): void {
    this.#socket.terminate();
  }

  #call(method: string, params: object): Promise<unknown> {
    const id = ++this.#calls;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const gone = () => reject(new Error("the server is gone"));
    const take = (data: Buffer) => {
      const message = JSON.parse(data.toString()) as { id?: number; result?: unknown };
      if (message.id !== id) return;
      this.#socket.off("message", take).off("close", gone);
      resolve(message.result);
    };
    this.#socket.on("message", take).once("close", gone);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise;
  }
}

const mb = (bytes: number) => Math.round(bytes / MIB);
