/** Asks a Node process for profiles of a period, over the inspector protocol. */

export interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  children?: number[];
}

export interface CpuProfile {
  nodes: ProfileNode[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

export interface HeapNode {
  callFrame: ProfileNode["callFrame"];
  selfSize: number;
  children: HeapNode[];
}

const SAMPLE_US = 200;
/** One sample is taken per this many bytes. */
const SAMPLE_BYTES = 4096;

export class Inspector implements Disposable {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  #asked = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data))));
  }

  static async open(port: number): Promise<Inspector> {
    const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as [
      { webSocketDebuggerUrl: string },
    ];
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    return new Inspector(socket);
  }

  async cpuProfile(during: () => Promise<void>): Promise<CpuProfile> {
    await this.#ask("Profiler.enable");
    await this.#ask("Profiler.setSamplingInterval", { interval: SAMPLE_US });
    await this.#ask("Profiler.start");
    await during();
    const { profile } = await this.#ask<{ profile: CpuProfile }>("Profiler.stop");
    return profile;
  }

  /** Includes allocations that were collected since. */
  async allocations(during: () => Promise<void>): Promise<HeapNode> {
    await this.#ask("HeapProfiler.startSampling", {
      samplingInterval: SAMPLE_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await during();
    const { profile } = await this.#ask<{ profile: { head: HeapNode } }>("HeapProfiler.stopSampling");
    return profile.head;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #ask<T>(method: string, params: object = {}): Promise<T> {
    const id = ++this.#asked;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#answers.set(id, { resolve, reject });
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise;
  }

  #hear({ id, result, error }: { id?: number; result: never; error?: { message: string } }): void {
    const waiting = this.#answers.get(id ?? 0);
    if (!waiting) return;
    this.#answers.delete(id ?? 0);
    if (error) waiting.reject(new Error(error.message));
    else waiting.resolve(result);
  }
}
