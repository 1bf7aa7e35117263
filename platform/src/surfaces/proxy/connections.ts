/** Connections to workers: kept open for the next request, and dropped together with their worker. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connection } from "../../balancing/connection.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { isOutOfDescriptors, outOfDescriptors } from "../../kernel/problem.ts";
import { AnswerReader, type Answers } from "./answer-reader.ts";
import type { Reached, Receiver } from "./receiver.ts";

/** Some servers close an idle connection silently after 2 s. Closing it earlier means never writing to a closed one. */
const IDLE_MS = 1000;

/** The worker did not accept a connection, so nothing was sent. */
export class DialRefused extends Error {}

/** The request that waits for an answer on a connection. */
export interface Asker extends Answers {
  /** Nothing more will arrive. */
  broke(why: Error): void;
  /** The worker accepts more bytes again. */
  drained(): void;
  /** Whether the whole request has been sent. */
  readonly isSent: boolean;
}

const known = new WeakMap<Reached, Connections>();

export function connectionsTo({ backend, gone }: Pick<Receiver, "backend" | "gone">, clock: Clock): Connections {
  let connections = known.get(backend);
  if (!connections) {
    connections = new Connections(backend, gone, clock);
    known.set(backend, connections);
  }
  return connections;
}

/** The connections to one worker. Each carries one request at a time. */
class Connections {
  readonly #backend: Reached;
  readonly #gone: AbortSignal;
  readonly clock: Clock;
  readonly #open = new Set<Connection>();
  /** The longest idle one comes first. */
  readonly #idle: Connection[] = [];
  /** Called when the worker is gone. */
  readonly #dialling = new Set<(why: Error) => void>();
  #timer: Timer | undefined;

  constructor(backend: Reached, gone: AbortSignal, clock: Clock) {
    this.#backend = backend;
    this.#gone = gone;
    this.clock = clock;
    gone.addEventListener("abort", () => this.#drop(), { once: true });
  }

  /** Takes a kept connection, if there is one. */
  take(): Connection | undefined {
    const now = this.clock.monotonic();
    for (let kept = this.#idle.pop(); kept; kept = this.#idle.pop()) {
      if (kept.isUsable && now - kept.idleSince < IDLE_MS) return kept;
      kept.destroy();
    }
    return undefined;
  }

  /** Opens a connection. The promise does not wait any longer once the worker is gone. */
  dial(): Promise<Connection> {
    const { promise, resolve, reject } = Promise.withResolvers<Connection>();
    const give = (stream: Duplex) => {
      if (this.#gone.aborted) stream.destroy();
      else resolve(this.#opened(stream));
    };
    this.#dialling.add(reject);
    if (this.#gone.aborted) this.#drop();
    dial(this.#backend, this.clock)
      .then(give, reject)
      .finally(() => this.#dialling.delete(reject));
    return promise;
  }

  #opened(stream: Duplex): Connection {
    const opened = new Connection(stream, this);
    this.#open.add(opened);
    return opened;
  }

  keep(connection: Connection): void {
    connection.idleSince = this.clock.monotonic();
    this.#idle.push(connection);
    this.#timer ??= this.clock.after(IDLE_MS, this.#closeIdle);
  }

  forget(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** One timer serves all idle connections, and is not reset for each request. */
  readonly #closeIdle = () => {
    const now = this.clock.monotonic();
    while (this.#idle.length > 0 && now - this.#idle[0]!.idleSince >= IDLE_MS) this.#idle.shift()!.destroy();
    const [oldest] = this.#idle;
    this.#timer = oldest && this.clock.after(oldest.idleSince + IDLE_MS - now, this.#closeIdle);
  };

  #drop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    const why = this.#gone.reason as Error;
    for (const reject of this.#dialling) reject(why);
    for (const connection of [...this.#open]) connection.destroy(why);
  }
}

export class Connection {
  readonly stream: Duplex;
  readonly #connections: Connections;
  readonly #reader = new AnswerReader();
  #asker: Asker | undefined;
  #error: Error | undefined;
  idleSince = 0;
  /** Whether anything of the answer has arrived. */
  isAnswering = false;

  constructor(stream: Duplex, connections: Connections) {
    this.stream = stream;
    this.#connections = connections;
    stream
      .on("data", (chunk: Buffer) => this.#take(chunk))
      .on("end", () => this.#ended())
      .on("drain", () => this.#asker?.drained())
      .on("error", (error) => {
        this.#error ??= error;
      })
      .on("close", () => this.#closed());
  }

  get isUsable(): boolean {
    return !this.stream.destroyed && this.stream.writable;
  }

  /** From now on, arriving bytes answer a request with this method. */
  ask(asker: Asker, method: string | undefined): void {
    this.#asker = asker;
    this.isAnswering = false;
    this.#reader.begin(asker, method);
  }

  destroy(why?: Error): void {
    this.#error ??= why;
    this.stream.destroy();
    // The asker is told at once, since the stream may take a while to close.
    this.#closed();
  }

  /** The asker has left, so no one would read the answer. */
  leave(): void {
    this.#asker = undefined;
    this.destroy();
  }

  #take(chunk: Buffer): void {
    const asker = this.#asker;
    this.isAnswering = true;
    try {
      // An answer without a request ends the connection.
      if (asker) this.#reader.take(chunk);
      else this.destroy();
    } catch (error) {
      this.destroy(error as Error);
    }
    if (asker && this.#asker && this.#reader.isOver) this.#over(asker);
  }

  #over(asker: Asker): void {
    this.#asker = undefined;
    const isKept = this.#reader.isReusable && asker.isSent && this.isUsable;
    this.#reader.rest();
    if (isKept) this.#connections.keep(this);
    else this.destroy();
  }

  #ended(): void {
    try {
      if (this.#asker && this.#reader.end()) this.#asker = undefined;
    } catch (error) {
      this.#error ??= error as Error;
    }
    this.destroy();
  }

  #closed(): void {
    this.#connections.forget(this);
    const asker = this.#asker;
    this.#asker = undefined;
    asker?.broke(this.#error ?? new Error("the other side closed it"));
  }
}

export async function dial(backend: Reached, clock: Clock): Promise<Duplex> {
  try {
    const worker = await connection(() => backend.dial(), clock);
    // Sends small pieces at once, if the connection is a socket.
    if ("setNoDelay" in worker) (worker as Socket).setNoDelay(true);
    return worker;
  } catch (error) {
    // Running out of descriptors is not the worker's fault.
    if (isOutOfDescriptors(error)) throw outOfDescriptors(error);
    throw new DialRefused((error as Error).message, { cause: error });
  }
}
