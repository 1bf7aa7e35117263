/** Sends spans to a collector of OpenTelemetry, by OTLP over HTTP in JSON. What it cannot send it drops and counts: it holds nothing up. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Log } from "../../kernel/log.ts";
import type { Span, SpanSink } from "../../kernel/tracing.ts";

export interface OtlpParts {
  /** The collector, without the path of traces. */
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** What runs here, such as `service.name`. */
  resource: Readonly<Record<string, string>>;
  clock: Clock;
  log: Log;
  counts: SpanCounts;
  send?: typeof fetch;
}

export interface SpanCounts {
  sent: number;
  dropped: number;
}

/** Spans that wait, at most. A collector that is away for longer loses what comes then. */
const MOST_WAITING = 4096;
const BATCH = 512;
const EVERY_MS = 2000;
const TIMEOUT_MS = 5000;
/** A collector that fails is said once in this time. */
const SAID_EVERY_MS = 60_000;

export class OtlpSink implements SpanSink, AsyncDisposable {
  readonly #parts: OtlpParts;
  readonly #address: string;
  #waiting: Span[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;
  #saidAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  /** The request that is under way. */
  #asking: AbortController | undefined;
  /** The server, which is ending, has waited long enough for the collector. */
  #isGivenUp = false;

  constructor(parts: OtlpParts) {
    this.#parts = parts;
    this.#address = `${parts.url.replace(/\/+$/, "")}/v1/traces`;
  }

  add(span: Span): void {
    if (this.#isClosed || this.#waiting.length >= MOST_WAITING) {
      this.#parts.counts.dropped++;
      return;
    }
    this.#waiting.push(span);
    if (this.#waiting.length >= BATCH) this.#sendSoon();
    else this.#sendLater();
  }

  /** Sends what waits, once, and gives up what the collector does not take in time, however many batches that are. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { clock, counts } = this.#parts;
    const end = clock.after(TIMEOUT_MS, () => {
      this.#isGivenUp = true;
      this.#asking?.abort();
    });
    await this.#sending;
    await this.#sendAll();
    end.cancel();
    this.#isClosed = true;
    this.#timer?.cancel();
    counts.dropped += this.#waiting.length;
    this.#waiting = [];
  }

  #sendLater(): void {
    this.#timer ??= this.#parts.clock.after(EVERY_MS, () => this.#sendSoon());
  }

  #sendSoon(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#sending || this.#isClosed) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
      // What came while a batch was refused may be the last for long.
      if (this.#waiting.length > 0) this.#sendLater();
    });
    // Sending reports its own failures.
    floating(this.#sending, () => {});
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isGivenUp) {
      const batch = this.#waiting.splice(0, BATCH);
      const failure = await this.#send(batch);
      if (failure === undefined) {
        this.#parts.counts.sent += batch.length;
        continue;
      }
      // Whoever does not take one batch takes no other now. What comes meanwhile is tried later.
      this.#parts.counts.dropped += batch.length;
      this.#say(failure);
      return;
    }
  }

  /** Returns why the collector did not take the spans, or undefined if it did. */
  async #send(batch: readonly Span[]): Promise<string | undefined> {
    const { clock, headers, resource, send: post = fetch } = this.#parts;
    const late = new AbortController();
    this.#asking = late;
    const timer = clock.after(TIMEOUT_MS, () => late.abort());
    try {
      const answer = await post(this.#address, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: tracesText(batch, resource),
        redirect: "error",
        signal: late.signal,
      });
      await answer.body?.cancel();
      return answer.ok ? undefined : `it answered ${answer.status}`;
    } catch (error) {
      const { cause, message } = error as Error;
      return late.signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : ((cause as Error)?.message ?? message);
    } finally {
      timer.cancel();
    }
  }

  #say(why: string): void {
    const { clock, log, counts } = this.#parts;
    if (clock.monotonic() - this.#saidAtMs < SAID_EVERY_MS) return;
    this.#saidAtMs = clock.monotonic();
    log.warn({ why, dropped: counts.dropped }, "the collector of traces takes no spans; they are dropped");
  }
}

type Value = { stringValue: string } | { intValue: string } | { doubleValue: number };
type Attributes = Readonly<Record<string, string | number | undefined>>;

const typed = (value: string | number): Value => {
  if (typeof value === "string") return { stringValue: value.toWellFormed() };
  return Number.isSafeInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
};

const attributesOf = (given: Attributes) =>
  Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: typed(value) }]));

const FAILED = 2;

/**
 * Half a character, as programs report them and as a cut leaves them, is no Unicode: some collectors refuse the whole batch for it, with
 * spans of all accounts. So each text is sent without it.
 */
const failed = (error: string) => ({ code: FAILED, message: error.toWellFormed() });

/** Times of OTLP are nanoseconds, as text, since they are beyond what a number of JavaScript can hold. */
const nanos = (ms: number) => `${Math.round(ms)}000000`;

function tracesText(spans: readonly Span[], resource: Attributes): string {
  const shown = spans.map(({ traceId, spanId, parentId, name, kind, from, to, attributes, error }) => ({
    ...{ traceId, spanId, ...(parentId !== undefined && { parentSpanId: parentId }), name, kind },
    ...{ startTimeUnixNano: nanos(from), endTimeUnixNano: nanos(Math.max(from, to)) },
    attributes: attributesOf(attributes),
    status: error === undefined ? {} : failed(error),
  }));
  const scopeSpans = [{ scope: { name: "millrace" }, spans: shown }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: attributesOf(resource) }, scopeSpans }] });
}
