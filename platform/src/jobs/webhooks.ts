/** Webhooks: the outbox read and sent, three times at most, until each target has been told. */
import { createHmac } from "node:crypto";
import { type Duty, every } from "../kernel/background.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { MIB } from "../kernel/operation.ts";
import { type Delivery, type Job, jobLifecycle, type Payload } from "../ports/queue/job.ts";
import type { Outgoing, Queue, Reading } from "../ports/queue/queue.ts";
import type { Signals } from "../ports/signals/signals.ts";

/** Sends one message; the composition root gives the real thing. */
export type Post = (url: string, body: string, headers: Record<string, string>) => Promise<{ status: number }>;

/** Messages are sent when they are written; a look now and then finds those that are due again, or whose signal was lost. */
const TICK_MS = 1000;
const AT_ONCE = 20;
const TRIES = 3;
const RETRY_AFTER_MS = 10_000;
/** A crash while sending leaves the message to be sent again after this time. */
const SENDING_MS = 30_000;
/** The original input goes along when it is small. */
const INPUT_BYTES = MIB;
const SHOWN_OF_ERROR = 200;

export interface WebhookParts {
  queue: Queue;
  signals: Signals;
  clock: Clock;
  log: Log;
  post: Post;
  /** The job as `/status` shows it, as JSON text. */
  record: (reading: Reading) => string;
  /** Signs each message when set. */
  secret?: string;
  /** Of many nodes, the one that sends; asked at each look, and taken to hold until the next. */
  mine?: (now: number) => Promise<boolean>;
  failed: (error: unknown) => void;
}

export class Webhooks implements AsyncDisposable {
  readonly #parts: WebhookParts;
  readonly #ticking: Duty;
  readonly #stopListening: () => void;
  readonly #sending = new Set<Promise<void>>();
  #isMine: boolean;
  /** More was due than could be sent at once. */
  #hasMore = false;

  constructor(parts: WebhookParts) {
    this.#parts = parts;
    const { mine = async () => true } = parts;
    this.#isMine = parts.mine === undefined;
    const look = async (now: number) => {
      this.#isMine = await mine(now);
      if (this.#isMine) await this.tick(now);
    };
    this.#ticking = every(parts.clock, TICK_MS, look, parts.failed);
    this.#stopListening = parts.signals.listen("outbox", () => this.#lookSoon());
  }

  /** Takes what is due and sends it. The message is put off before it is sent: two senders never send the same one at once. */
  async tick(now: number): Promise<void> {
    const free = AT_ONCE - this.#sending.size;
    const messages = free > 0 ? await this.#parts.queue.outgoing(now, free) : [];
    this.#hasMore = messages.length >= free;
    for (const message of messages) {
      await this.#parts.queue.settle(message.job, message.url, { tries: message.tries + 1, dueAt: now + SENDING_MS });
      const sending = this.#send(message)
        .catch(this.#parts.failed)
        .finally(() => this.#sent(sending));
      this.#sending.add(sending);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    await this.#ticking[Symbol.asyncDispose]();
    await Promise.all(this.#sending);
  }

  #sent(sending: Promise<void>): void {
    this.#sending.delete(sending);
    if (this.#hasMore) this.#lookSoon();
  }

  /** Elsewhere, whoever has the duty hears the same signal. */
  #lookSoon(): void {
    if (this.#isMine) void this.#ticking.soon();
  }

  async #send({ job: id, url, tries }: Outgoing): Promise<void> {
    const { queue, clock, log } = this.#parts;
    // Expired results are still told of: the message keeps them.
    const reading = await queue.read(id, Number.NEGATIVE_INFINITY, ["result", "body"]);
    if (typeof reading !== "object" || !jobLifecycle.isFinal(reading.job.state)) return queue.settle(id, url, "done");
    const delivery = await this.#deliver(url, reading);
    await this.#note(reading.job, delivery);
    const delivered = delivery.status === 200;
    if (!delivered)
      log.warn(
        { job: id, target: originOf(url), status: delivery.status, error: delivery.error, tries: tries + 1 },
        "webhook not delivered",
      );
    const over = delivered || tries + 1 >= TRIES;
    await queue.settle(id, url, over ? "done" : { tries: tries + 1, dueAt: clock.now() + RETRY_AFTER_MS });
  }

  async #deliver(url: string, reading: Reading): Promise<Delivery> {
    const { clock, post, record } = this.#parts;
    const body = withInput(record(reading), reading.body);
    const at = clock.now();
    try {
      return { url: originOf(url), at, ...(await post(url, body, this.#headers(body, at))) };
    } catch (error) {
      return { url: originOf(url), at, error: (error as Error).message.slice(0, SHOWN_OF_ERROR) };
    }
  }

  /** `t=<seconds>,v1=<hex>` over `<seconds>.<body>`: a receiver can tell that it is from here, and not from long ago. */
  #headers(body: string, now: number): Record<string, string> {
    const { secret } = this.#parts;
    if (!secret) return {};
    const seconds = Math.floor(now / 1000);
    const signature = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
    return { "X-Millrace-Signature": `t=${seconds},v1=${signature}` };
  }

  async #note(job: Job, delivery: Delivery): Promise<void> {
    const deliveries = [...(job.deliveries ?? []), delivery].slice(-2 * TRIES);
    await this.#parts.queue.apply([
      { id: job.id, when: { states: [job.state], attempt: job.attempt }, set: { deliveries } },
    ]);
  }
}

/** The URL's query and path may hold a token; the log and the record name only where it leads. */
function originOf(url: string): string {
  return new URL(url).origin;
}

function withInput(record: string, body: Payload | undefined): string {
  if (body === undefined || body.length > INPUT_BYTES) return record;
  const { input } = JSON.parse(typeof body === "string" ? body : Buffer.from(body).toString()) as { input: unknown };
  return `${record.slice(0, -1)},"input":${JSON.stringify(input)}}`;
}
