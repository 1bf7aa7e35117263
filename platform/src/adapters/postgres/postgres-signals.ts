/** Signals between nodes through PostgreSQL: heard at once within a node, and gathered for a few milliseconds for other nodes. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { requestId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { MemorySignals } from "../../ports/signals/memory-signals.ts";
import type { Signals, Topic } from "../../ports/signals/signals.ts";
import { textArray } from "./arrays.ts";
import { type OwnConnection, openConnection, type Patience } from "./connection.ts";
import { translated } from "./pool.ts";

const CHANNEL = "millrace_signals";
/** NOTIFY locks the whole database at commit. So a node sends at most one statement in this time, however many signals it has. */
const GATHER_MS = 3;
/** A node that has just sent a message gathers for longer: under load every message costs as much as a job, and few are enough. */
const BUSY_GATHER_MS = 10;
/** A node that is alone sends nothing. It keeps its signals this long, in case that another one has come and was not heard yet. */
const ALONE_GATHER_MS = 250;
/** PostgreSQL refuses payloads of 8000 bytes and more. This part of a payload is for the topics. */
const TOPICS_BYTES = 7_800;
/** While the database is away, at most this many topics are gathered. Signals are hints, and their listeners also look by themselves. */
const MOST_GATHERED = 10_000;
const FIRST_RECONNECT_MS = 100;
const LAST_RECONNECT_MS = 5_000;

const CONNECTION_NAME = "millrace signals";
/** Every node has such a connection, also one of an earlier release, and every user of the database sees its name. */
const OTHERS = {
  name: "others",
  text: `SELECT count(*)::integer AS others FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()`,
};
/** A named statement, so that the connection does not plan it hundreds of times a second. */
const NOTIFY = { name: "notify", text: "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload" };
/** A hint is not worth the wait for the disk that every message would cause. */
const SETTINGS = { synchronous_commit: "off" };

interface Options extends Patience {
  clock: Clock;
  random: Random;
}

export class PostgresSignals implements Signals {
  readonly reliable = false;
  readonly #url: string;
  readonly #clock: Clock;
  readonly #patience: Patience;
  /** Marks the sender of a message. A node also receives its own messages, which it has already heard. */
  readonly #node: string;
  readonly #local = new MemorySignals();
  #gathered = new Map<Topic, number>();
  /** No other node was connected at the last look, and none was heard since. Each message would cost as much as some jobs. */
  #isAlone = false;
  /** How many messages of others were heard. */
  #heardOthers = 0;
  #client: OwnConnection | undefined;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #sentAt = Number.NEGATIVE_INFINITY;
  #reconnectMs = FIRST_RECONNECT_MS;
  #reconnect: Timer | undefined;
  #connecting: Promise<void> | undefined;
  #closed = false;

  private constructor(url: string, { clock, random, ...patience }: Options) {
    this.#url = url;
    this.#clock = clock;
    this.#patience = patience;
    this.#node = requestId(random);
  }

  /** Resolves once signals of other nodes are heard. Rejects when the database cannot be reached now. */
  static async open(url: string, options: Options): Promise<PostgresSignals> {
    const signals = new PostgresSignals(url, options);
    await signals.#connect();
    return signals;
  }

  emit(topic: Topic, count = 1): void {
    this.#local.emit(topic, count);
    if (this.#closed) return;
    this.#gather(topic, count);
    this.#timer ??= this.#sendSoon();
  }

  listen(topic: Topic, heard: (count: number) => void): () => void {
    return this.#local.listen(topic, heard);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.cancel();
    await this.#sending;
    await this.#send();
    this.#closed = true;
    this.#reconnect?.cancel();
    await this.#connecting;
    await this.#client?.[Symbol.asyncDispose]();
    await this.#local[Symbol.asyncDispose]();
  }

  #gather(topic: Topic, count: number): void {
    if (this.#gathered.size < MOST_GATHERED) this.#gathered.set(topic, (this.#gathered.get(topic) ?? 0) + count);
  }

  async #send(): Promise<void> {
    const client = this.#client;
    // Without a connection the signals stay gathered until there is one.
    if (!client || this.#gathered.size === 0) return;
    const gathered = this.#gathered;
    this.#gathered = new Map();
    if (this.#isAlone) return;
    this.#sentAt = this.#clock.monotonic();
    const payloads = payloadsOf(this.#node, gathered);
    try {
      await client.query(NOTIFY, [CHANNEL, textArray(payloads)]);
    } catch {
      // The connection is gone, and the handler of its end deals with that. A hint that is sent twice does no harm.
      for (const [topic, count] of gathered) this.#gather(topic, count);
    }
  }

  #sendSoon(): Timer {
    const isBusy = this.#clock.monotonic() - this.#sentAt < BUSY_GATHER_MS;
    const gatherMs = this.#isAlone ? ALONE_GATHER_MS : isBusy ? BUSY_GATHER_MS : GATHER_MS;
    return this.#clock.after(gatherMs, () => {
      // One statement at a time: a slow one is awaited, and then everything gathered meanwhile goes out together.
      this.#sending = (this.#sending ?? Promise.resolve()).then(() => {
        this.#timer = undefined;
        return this.#send();
      });
    });
  }

  async #connect(): Promise<void> {
    const client = await translated(
      openConnection(this.#url, {
        name: CONNECTION_NAME,
        settings: SETTINGS,
        clock: this.#clock,
        heard: (payload) => this.#hear(payload),
        check: (query) => this.#lookAround(query),
        ...this.#patience,
      }),
    );
    try {
      await translated(client.query(`LISTEN ${CHANNEL}`));
      // Now everyone knows that this node listens, and sends its signals.
      await translated(client.query(NOTIFY, [CHANNEL, textArray([messageOf(this.#node, [])])]));
      await translated(this.#lookAround((...asked) => client.query(...asked)));
    } catch (error) {
      await client[Symbol.asyncDispose]();
      throw error;
    }
    floating(
      client.ended.then(() => this.#lost(client)),
      () => {},
    );
    this.#client = client;
    this.#reconnectMs = FIRST_RECONNECT_MS;
  }

  #hear(payload: string): void {
    // Most messages that a node hears are its own. They are recognized by their beginning.
    if (payload.startsWith(opening(this.#node))) return;
    this.#heardOthers++;
    if (this.#isAlone) this.#isJoined();
    for (const [topic, count] of topicsIn(payload)) this.#local.emit(topic, count);
  }

  /** Another node is there. It gets what was gathered in the moment before. */
  #isJoined(): void {
    this.#isAlone = false;
    if (!this.#timer) return;
    this.#timer.cancel();
    this.#timer = this.#sendSoon();
  }

  async #lookAround(query: OwnConnection["query"]): Promise<void> {
    const heardBefore = this.#heardOthers;
    const [row] = (await query(OTHERS, [CONNECTION_NAME])) as { others: number }[];
    if (row!.others > 0 && this.#isAlone) this.#isJoined();
    // A node that came during the look is not in the answer.
    else this.#isAlone = row!.others === 0 && this.#heardOthers === heardBefore;
  }

  #lost(client: OwnConnection): void {
    if (this.#client !== client || this.#closed) return;
    this.#client = undefined;
    this.#reconnectSoon();
  }

  #reconnectSoon(): void {
    this.#reconnect = this.#clock.after(this.#reconnectMs, () => {
      this.#reconnectMs = Math.min(this.#reconnectMs * 2, LAST_RECONNECT_MS);
      this.#connecting = this.#connect().then(
        () => this.#resume(),
        () => {
          if (!this.#closed) this.#reconnectSoon();
        },
      );
    });
  }

  /** Signals that came while the connection was away are lost, so everyone who listens gets a reason to look. */
  #resume(): void {
    this.#local.emitAll();
    if (this.#gathered.size > 0) this.#timer ??= this.#sendSoon();
  }
}

const opening = (from: string) => `{"from":${JSON.stringify(from)},`;
const messageOf = (from: string, topics: readonly string[]) => `${opening(from)}"topics":[${topics.join(",")}]}`;

/** Any program that may connect to the database can send anything on the channel. Malformed messages are ignored. */
function topicsIn(payload: string): [Topic, number][] {
  try {
    const { topics } = JSON.parse(payload) as { topics: [Topic, number][] };
    return topics.filter(([topic, count]) => typeof topic === "string" && Number.isSafeInteger(count));
  } catch {
    return [];
  }
}

/** Builds as few messages as the size limit allows. */
function payloadsOf(from: string, gathered: Iterable<[Topic, number]>): string[] {
  const payloads: string[] = [];
  let topics: string[] = [];
  let bytes = 0;
  const close = () => payloads.push(messageOf(from, topics));
  for (const entry of gathered) {
    const text = JSON.stringify(entry);
    const length = Buffer.byteLength(text) + 1;
    // A topic that is too long for any message would block all others.
    if (length > TOPICS_BYTES) continue;
    if (topics.length > 0 && bytes + length > TOPICS_BYTES) {
      close();
      topics = [];
      bytes = 0;
    }
    topics.push(text);
    bytes += length;
  }
  if (topics.length > 0) close();
  return payloads;
}
