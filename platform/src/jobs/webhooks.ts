/** Sends the webhooks in the outbox, with at most three tries for each target. Accounts that submitted jobs, and targets, take turns. */

import { type Duty, every } from "../kernel/background.ts";
import type { BodyMemory } from "../kernel/body-memory.ts";
import { type Clock, turn } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import { MIB } from "../kernel/operation.ts";
import { Remembered } from "../kernel/remembered.ts";
import { handedTraceparent } from "../kernel/traceparent.ts";
import type { Tracing } from "../kernel/tracing.ts";
import { type Delivery, type Job, jobLifecycle } from "../ports/queue/job.ts";
import type { MessageState, Outgoing, Queue, Reading, Teller } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";
import { type FindInput, inputBytes } from "./input.ts";
import { OutboxRounds, type Turn } from "./outbox-rounds.ts";
import { Senders } from "./senders.ts";
import { signatureOf } from "./webhook-signature.ts";

/** Sends one message, which may be long. The composition root provides the real implementation. */
export type Post = (
  url: string,
  body: readonly Uint8Array[],
  headers: Record<string, string>,
) => Promise<{ status: number }>;

/** Messages are sent when they are written. A regular look finds those that are due again or whose signal was lost. */
const TICK_MS = 1000;
const WEBHOOKS = "send webhooks";
/** An account's turn is over after this many messages. */
const A_TURN = 4;
/** A look ends after this many turns, because the duty's owner and the tellers with messages must be checked again. */
const TURNS_IN_A_LOOK = 32;
/** So many pages of targets are read in a second although none of their targets is due. A page takes SQLite half a millisecond. */
const VAIN_PAGES = 32;
const ACCOUNT_MS = 3_600_000;
const TRIES = 3;
const RETRY_AFTER_MS = 10_000;
/** If the server crashes while sending, the message is sent again after this time. */
const SENDING_MS = 30_000;
/**
 * A message that could not be delivered for this long is dropped, because a silent target would otherwise keep its jobs forever. Time in
 * which no server sent messages does not count.
 */
const GIVE_UP_HOURS = 24;
const HOUR_MS = 3_600_000;
/** If more tellers than this have messages, only the regular looks search for further ones. */
const MANY_TELLERS = 100;
/** A look searches among this many tellers, and the next look goes on after them. Ten thousand would take SQLite a tenth of a second. */
const TELLERS_IN_A_LOOK = 1000;
/** The original input is included if it is at most this long. */
const INPUT_BYTES = MIB;
/** This is well before the message is due again. */
const MEMORY_WAIT_MS = 5000;
const SHOWN_OF_ERROR = 200;

export interface WebhookParts {
  queue: Queue;
  signals: Signals;
  clock: Clock;
  log: Log;
  memory: Pick<BodyMemory, "take">;
  post: Post;
  /** Returns the job as `/status` shows it, as JSON in pieces. The last piece ends with the closing brace. */
  record: (reading: Reading) => Uint8Array[];
  findInput?: FindInput;
  /** Records the traces of jobs. Without it, none are recorded. */
  tracing?: Pick<Tracing, "told"> | undefined;
  /** Returns the account of an endpoint, or undefined if the endpoint is gone. */
  accountOf: (endpoint: string) => Promise<string | undefined>;
  /** Signs each message when set. */
  secret?: string;
  /** After how many hours a message is given up. */
  giveUpHours?: number | undefined;
  /** Reports whether this node, of several, is the one that sends. It is asked at each look, and the answer holds until the next. */
  mine?: (now: number) => Promise<boolean>;
  failed: Failed;
}

const findHere: FindInput = async (body) => inputBytes(body);

export class Webhooks implements AsyncDisposable {
  readonly #parts: WebhookParts;
  readonly #ticking: Duty;
  readonly #stopListening: () => void;
  readonly #sending = new Set<Promise<void>>();
  readonly #senders = new Senders();
  readonly #rounds = new OutboxRounds();
  #isMine: boolean;
  readonly #accounts: Remembered<string>;
  readonly #since: number;
  /** A signal said that there are messages, and no look has found out yet whose they are. */
  #heard = false;
  #listedAt = Number.NEGATIVE_INFINITY;
  #hasMany = false;
  #wokenAt = Number.NEGATIVE_INFINITY;
  /** How many pages of targets were read since then of which none was due. */
  #vainPages = 0;
  /** Where the next look goes on to search for tellers. */
  #nextTellers: Teller | undefined;

  constructor(parts: WebhookParts) {
    this.#parts = parts;
    const { mine = async () => true } = parts;
    this.#isMine = parts.mine === undefined;
    this.#accounts = new Remembered(parts.clock, ACCOUNT_MS);
    this.#since = parts.clock.now();
    const look = async (now: number) => {
      this.#isMine = await mine(now);
      if (this.#isMine) await this.tick(now);
    };
    this.#ticking = every(parts.clock, { name: WEBHOOKS, everyMs: TICK_MS }, look, parts.failed);
    this.#stopListening = parts.signals.listen("outbox", () => this.#hear());
  }

  /** Sends the messages that are due. Each is postponed before it is sent, so two senders never send the same one at once. */
  async tick(now: number): Promise<void> {
    this.#wake();
    if (this.#heard || this.#parts.clock.monotonic() - this.#listedAt >= TICK_MS) await this.#list(now);
    for (let turns = 0; turns < TURNS_IN_A_LOOK; turns++) {
      const account = this.#next();
      if (account === undefined) return;
      await this.#sendSome(this.#rounds.take(account), now);
    }
    // Without this, one who has a message would wait for the next regular look behind many who turn out to have none.
    floating(this.#lookAgain(), named(this.#parts.failed, WEBHOOKS));
  }

  /** Anything else that waits for the event loop has its turn before. */
  async #lookAgain(): Promise<void> {
    await turn();
    if (this.#isMine) await this.#ticking.soon();
  }

  #wake(): void {
    const now = this.#parts.clock.monotonic();
    if (now - this.#wokenAt < TICK_MS) return;
    this.#wokenAt = now;
    this.#vainPages = 0;
    this.#rounds.wake();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await this.#ticking[Symbol.asyncDispose]();
    await Promise.all(this.#sending);
  }

  /** Other nodes ignore the signal: the node that has the duty hears it too. */
  #hear(): void {
    if (!this.#isMine || this.#hasMany) return;
    this.#heard = true;
    floating(this.#ticking.soon(), named(this.#parts.failed, WEBHOOKS));
  }

  async #list(now: number): Promise<void> {
    this.#heard = false;
    this.#listedAt = this.#parts.clock.monotonic();
    const page = { limit: TELLERS_IN_A_LOOK, after: this.#nextTellers };
    const { tellers, next } = await this.#parts.queue.tellers({ now, ...page });
    this.#nextTellers = next;
    this.#hasMany = next !== undefined || tellers.length > MANY_TELLERS;
    for (const teller of tellers) this.#rounds.add(await this.#accountOf(teller), teller);
  }

  async #accountOf({ endpoint, caller }: Teller): Promise<string> {
    if (caller !== "") return caller;
    const known = this.#accounts.get(endpoint);
    if (known !== undefined) return known;
    const account = (await this.#parts.accountOf(endpoint)) ?? endpoint;
    this.#accounts.set(endpoint, account);
    return account;
  }

  /** Returns the account that sends the least, among those that may send more. */
  #next(): string | undefined {
    const ready = this.#rounds.accounts.filter((account) => this.#senders.roomOf(account) > 0);
    const sending = (account: string) => this.#senders.sendingOf(account);
    return ready.reduce<string | undefined>(
      (least, one) => (least === undefined || sending(one) < sending(least) ? one : least),
      undefined,
    );
  }

  async #sendSome(whose: Turn, now: number): Promise<void> {
    const { account, teller, after } = whose;
    const limit = Math.min(A_TURN, this.#senders.roomOf(account));
    const except = this.#senders.busyTargets(account);
    const { messages, next } = await this.#parts.queue.outgoing({ ...teller, now, limit, after, except });
    const hasSome = messages.length > 0;
    if (!hasSome && next !== undefined) this.#vainPages++;
    this.#rounds.putBack(whose, { hasSome, next, rests: !hasSome && this.#vainPages > VAIN_PAGES });
    for (const message of messages) this.#senders.began(account, message.target);
    await Promise.all(messages.map((message) => this.#begin(message, whose, now)));
  }

  async #begin(message: Outgoing, turn: Turn, now: number): Promise<void> {
    const { queue, clock, failed } = this.#parts;
    const began = clock.monotonic();
    const ended = () => this.#senders.ended(turn.account, message.target, clock.monotonic() - began);
    const begun = { tries: message.tries + 1, dueAt: now + SENDING_MS };
    try {
      await queue.settle(message.job, message.url, begun, message);
    } catch (error) {
      // The next look tries again, not this one: a message that could not be postponed is still due.
      ended();
      throw error;
    }
    const sending = this.#send(message, begun, turn.account)
      .catch(named(failed, WEBHOOKS))
      .finally(() => {
        this.#sending.delete(sending);
        ended();
        this.#goOn(turn);
      });
    this.#sending.add(sending);
  }

  /** The teller may have more messages for this target, and its account may have some for others. */
  #goOn({ account, teller }: Turn): void {
    this.#rounds.add(account, teller);
    if (this.#isMine) floating(this.#ticking.soon(), named(this.#parts.failed, WEBHOOKS));
  }

  async #send({ job: id, url, tries }: Outgoing, begun: MessageState, account: string): Promise<void> {
    const { queue, clock, log, giveUpHours = GIVE_UP_HOURS } = this.#parts;
    // The target may retry the job while it is told. The message about the next end must be sent too.
    const settle = (next: MessageState | "done") => queue.settle(id, url, next, begun);
    using holds = new DisposableStack();
    const reading = await this.#read(id, account, holds);
    if (reading === "no room") {
      log.warn({ job: id, target: originOf(url) }, "webhook put off: there is no memory free for its message");
      return settle({ tries, dueAt: clock.now() + RETRY_AFTER_MS });
    }
    if (typeof reading !== "object" || !jobLifecycle.isFinal(reading.job.state)) return settle("done");
    if (clock.now() - Math.max(reading.job.endedAt ?? 0, this.#since) > giveUpHours * HOUR_MS) {
      log.warn(
        { job: id, target: originOf(url), tries },
        `webhook given up: it was not delivered within ${giveUpHours} hours`,
      );
      return settle("done");
    }
    const from = clock.now();
    const delivery = await this.#deliver(url, reading);
    const { status, error } = delivery;
    if (reading.job.trace !== undefined)
      this.#parts.tracing?.told(reading.job, { target: delivery.url, from, status, error });
    await this.#note(reading.job, delivery);
    const delivered = delivery.status === 200;
    if (!delivered)
      log.warn(
        { job: id, target: originOf(url), status: delivery.status, error: delivery.error, tries: tries + 1 },
        "webhook not delivered",
      );
    const over = delivered || tries + 1 >= TRIES;
    await settle(over ? "done" : { tries: tries + 1, dueAt: clock.now() + RETRY_AFTER_MS });
  }

  /** Returns the record, followed by the input if that is small. */
  async #body(reading: Reading): Promise<Uint8Array[]> {
    const { record, findInput = findHere } = this.#parts;
    const pieces = record(reading);
    if (reading.body === undefined || reading.body.length > INPUT_BYTES) return pieces;
    const body = typeof reading.body === "string" ? Buffer.from(reading.body) : reading.body;
    const [start, end] = await findInput(body, reading.job.endpoint);
    const open = pieces.pop()!.subarray(0, -1);
    return [...pieces, open, Buffer.from(',"input":'), body.subarray(start, end), Buffer.from("}")];
  }

  /** The message stays in memory while it is sent, however long the target takes. Until then its account's memory limit counts it. */
  async #read(
    id: string,
    account: string,
    holds: DisposableStack,
  ): Promise<Awaited<ReturnType<Queue["read"]>> | "no room"> {
    const { queue, memory } = this.#parts;
    let refusal: unknown;
    const admit = async (bytes: number) => {
      try {
        return holds.use(await memory.take(account, bytes, { waitMs: MEMORY_WAIT_MS }));
      } catch (error) {
        refusal = error;
        throw error;
      }
    };
    try {
      // A webhook also reports an expired result, which is kept until the message is sent.
      return await queue.read(id, Number.NEGATIVE_INFINITY, ["result", "body"], admit);
    } catch (error) {
      if (refusal !== undefined && error === refusal) return "no room";
      throw error;
    }
  }

  async #deliver(url: string, reading: Reading): Promise<Delivery> {
    const { clock, post } = this.#parts;
    const at = clock.now();
    try {
      const body = await this.#body(reading);
      const headers = { ...(await signatureOf(body, this.#parts.secret, at)), ...traced(reading.job) };
      return { url: originOf(url), at, ...(await post(url, body, headers)) };
    } catch (error) {
      return { url: originOf(url), at, error: (error as Error).message.slice(0, SHOWN_OF_ERROR) };
    }
  }

  async #note(job: Job, delivery: Delivery): Promise<void> {
    const deliveries = [...(job.deliveries ?? []), delivery].slice(-2 * TRIES);
    await this.#parts.queue.apply([
      { id: job.id, when: { states: [job.state], attempt: job.attempt }, set: { deliveries } },
    ]);
  }
}

/** The URL's query and path may contain a token, so the log and the record show only its origin. */
function originOf(url: string): string {
  return new URL(url).origin;
}

/** The target continues the job's trace. */
const traced = ({ id, attempt, trace }: Job): Record<string, string> =>
  trace === undefined ? {} : { traceparent: handedTraceparent(trace, id, attempt) };
