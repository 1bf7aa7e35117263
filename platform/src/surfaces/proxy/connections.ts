/** Connections to workers: kept open for the next request, and dropped with the worker that they lead to. */
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { connection } from "../../balancing/connection.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { isOutOfDescriptors, outOfDescriptors } from "../../kernel/problem.ts";
import { AnswerReader, type Answers } from "./answer-reader.ts";
import type { Reached, Receiver } from "./receiver.ts";

/** Some servers close an idle connection after 2 s without a word; one that we close first is never written to too late. */
const IDLE_MS = 1000;

/** The worker did not accept a connection, so nothing was sent. */
export class DialRefused extends Error {}

/** Whoever has asked something on a connection. */
export interface Asker extends Answers {
  /** Nothing more comes. */
  broke(why: Error): void;
  /** The worker takes more again. */
  drained(): void;
  /** Whether the whole of the request has left. */
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

/** One request at a time is on each of them. */
class Connections {
  readonly #backend: Reached;
  readonly #gone: AbortSignal;
  readonly clock: Clock;
  readonly #open = new Set<Connection>();
  /** The one that has been idle for longest first. */
  readonly #idle: Connection[] = [];
  /** Told when the worker is gone. */
  readonly #dialling = new Set<(why: Error) => void>();
  #timer: Timer | undefined;

  constructor(backend: Reached, gone: AbortSignal, clock: Clock) {
    this.#backend = backend;
    this.#gone = gone;
    this.clock = clock;
    gone.addEventListener("abort", () => this.#drop(), { once: true });
  }

  /** One that is open, where there is one. */
  take(): Connection | undefined {
    const now = this.clock.monotonic();
    for (let kept = this.#idle.pop(); kept; kept = this.#idle.pop()) {
      if (kept.isUsable && now - kept.idleSince < IDLE_MS) return kept;
      kept.destroy();
    }
    return undefined;
  }

  /** A new one. Nobody waits for it once the worker is gone. */
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

  /** One timer for all of them, which is not set anew for each request. */
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

  /** What comes from now on is the answer to a request with this method. */
  ask(asker: Asker, method: string | undefined): void {
    this.#asker = asker;
    this.#reader.begin(asker, method);
  }

  destroy(why?: Error): void {
    this.#error ??= why;
    this.stream.destroy();
    // An asker is told at once: the stream itself may take its time.
    this.#closed();
  }

  /** The asker has left: nobody reads what would come. */
  leave(): void {
    this.#asker = undefined;
    this.destroy();
  }

  #take(chunk: Buffer): void {
    const asker = this.#asker;
    try {
      // An answer that nobody asked for is for nobody.
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
    // Small pieces leave at once where the connection is a socket.
    if ("setNoDelay" in worker) (worker as Socket).setNoDelay(true);
    return worker;
  } catch (error) {
    // That is nothing that the worker did.
    if (isOutOfDescriptors(error)) throw outOfDescriptors(error);
    throw new DialRefused((error as Error).message, { cause: error });
  }
}
