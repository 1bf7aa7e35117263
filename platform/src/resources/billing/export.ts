/** Usage for invoices: one line for each span and each hour of a public endpoint, as text that is made while it is sent. */
import type { OutgoingText } from "../../kernel/bytes.ts";
import { type Clock, timestamp } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import { exactUsd } from "../../kernel/money.ts";
import { problem } from "../../kernel/problem.ts";
import { Slices } from "../../kernel/slices.ts";
import type { Window } from "../../metering/reckoning.ts";
import { SpanReader } from "../../metering/span-reader.ts";
import type { Charges } from "../../ports/queue/queue.ts";
import type { Store } from "../../ports/store/store.ts";
import type { Accounts } from "../account/accounts.ts";
import { bucketsOf } from "./buckets.ts";
import type { ChargeBook } from "./charge-book.ts";
import { type Billed, csvHead, csvLine, type Drawn, lineOf, linesOfCharge, linesOfSpan } from "./export-lines.ts";
import { ResourceNames } from "./resource-names.ts";

export interface ExportAsked {
  startTime?: string;
  endTime?: string;
  format?: "csv" | "json";
}

/** Lines are handed over in pieces of about this many characters. */
const PIECE = 32_768;
/** Other requests get a turn after this many lines. */
const LINES_AT_A_STRETCH = 500;
/** Charges of public endpoints are read for so long a time at once. */
const SLICE_MS = 7 * 24 * 3_600_000;
const ENDPOINTS_AT_ONCE = 500;
const ACCOUNTS_AT_ONCE = 100;
/** A client that reads slowly holds an export open, so nobody has many at once. */
const MOST_AT_ONCE = 2;
const INSTALLATION = "*";

export class BillingExport {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #charges: ChargeBook;
  readonly #accounts: Accounts;
  readonly #spans: SpanReader;
  readonly #running = new Map<string, number>();

  constructor(parts: { store: Store; clock: Clock; charges: ChargeBook; accounts: Accounts }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#charges = parts.charges;
    this.#accounts = parts.accounts;
    this.#spans = new SpanReader(parts);
  }

  /** Does nothing: the records that it reads are those of others. */
  async prepare(): Promise<void> {}

  /** Of one account. */
  async of(account: string, asked: ExportAsked): Promise<OutgoingText> {
    const { id, name } = await this.#accounts.get(account);
    return this.#text(account, asked, (window, now) => this.#linesOf({ id, name }, window, now));
  }

  /** Of every account that exists. */
  async ofAll(asked: ExportAsked): Promise<OutgoingText> {
    return this.#text(INSTALLATION, asked, (window, now) => this.#linesOfAll(window, now));
  }

  #text(whose: string, asked: ExportAsked, lines: (window: Window, now: number) => AsyncIterable<Drawn>): OutgoingText {
    const now = this.#clock.now();
    const window = bucketsOf({ ...asked, bucketSize: "hour" }, now);
    const write = asked.format === "csv" ? csvOf : jsonOf;
    const type = asked.format === "csv" ? "text/csv; charset=utf-8; header=present" : "application/json";
    const name = `usage-${timestamp(window.from).slice(0, 10)}.${asked.format ?? "json"}`;
    return {
      headers: { "Content-Type": type, "Content-Disposition": `attachment; filename="${name}"` },
      read: () => this.#inTurn(whose, inPieces(write(window, lines(window, now)))),
    };
  }

  async *#inTurn(whose: string, pieces: AsyncIterable<string>): AsyncGenerator<string> {
    const running = this.#running.get(whose) ?? 0;
    if (running >= MOST_AT_ONCE)
      throw problem("too-much", `${MOST_AT_ONCE} exports of this account are under way: wait until one has ended.`, {
        reason: "too-many-at-once",
        retryAfterS: 5,
      });
    this.#running.set(whose, running + 1);
    try {
      yield* pieces;
    } finally {
      const left = this.#running.get(whose)! - 1;
      if (left > 0) this.#running.set(whose, left);
      else this.#running.delete(whose);
    }
  }

  async *#linesOfAll(window: Window, now: number): AsyncGenerator<Drawn> {
    for (let after: LastSeen | undefined, isFirst = true; isFirst || after; isFirst = false) {
      const { items, next } = await this.#accounts.page({ after, limit: ACCOUNTS_AT_ONCE });
      for (const { id, name } of items) yield* this.#linesOf({ id, name }, window, now);
      after = next;
    }
  }

  async *#linesOf(account: Billed, window: Window, now: number): AsyncGenerator<Drawn> {
    const slices = new Slices(LINES_AT_A_STRETCH);
    const names = new ResourceNames(this.#store);
    /** Endpoints that had workers in this time. Some may be deleted by now, and still have brought something. */
    const endpoints = new Set<string>();
    for await (const span of this.#spans.touching({ account: account.id }, window)) {
      await slices.did(1);
      if (span.kind === "worker") endpoints.add(span.owner);
      for (const line of linesOfSpan(span, window, now))
        yield lineOf(account, { ...line, resourceName: await names.of(span.kind, span.owner) });
    }
    for await (const charge of this.#chargesIn({ caller: account.id }, window))
      yield* linesOfCharge(account, charge, "amount");
    yield* this.#income(account, endpoints, window);
  }

  /** What other accounts owe this one for its public endpoints. */
  async *#income(account: Billed, endpoints: Set<string>, window: Window): AsyncGenerator<Drawn> {
    for await (const id of this.#endpointsOf(account.id)) endpoints.add(id);
    const all = [...endpoints];
    for (let i = 0; i < all.length; i += ENDPOINTS_AT_ONCE)
      for await (const charge of this.#chargesIn({ endpoints: all.slice(i, i + ENDPOINTS_AT_ONCE) }, window))
        yield* linesOfCharge(account, charge, "income");
  }

  async *#chargesIn(
    whose: { caller: string } | { endpoints: readonly string[] },
    { from, to }: Window,
  ): AsyncGenerator<Charges> {
    for (let start = from; start < to; start += SLICE_MS)
      yield* await this.#charges.within({ ...whose, from: start, to: Math.min(start + SLICE_MS, to) });
  }

  async *#endpointsOf(account: string): AsyncGenerator<string> {
    for (let after: LastSeen | undefined, isFirst = true; isFirst || after; isFirst = false) {
      const page = await this.#store.list({
        kind: "endpoint",
        account,
        limit: ENDPOINTS_AT_ONCE,
        ...(after && { after }),
      });
      for (const { id } of page) yield id;
      after = page.length === ENDPOINTS_AT_ONCE ? page.at(-1) : undefined;
    }
  }
}

async function* csvOf(_: Window, lines: AsyncIterable<Drawn>): AsyncGenerator<string> {
  yield csvHead();
  for await (const { line } of lines) yield csvLine(line);
}

/** The sums come last, so a client knows that it has all of it. */
async function* jsonOf({ from, to }: Window, lines: AsyncIterable<Drawn>): AsyncGenerator<string> {
  const sums = { amount: 0n, income: 0n };
  let count = 0;
  yield `{"startTime":"${timestamp(from)}","endTime":"${timestamp(to)}","lines":[`;
  for await (const { line, amount, income } of lines) {
    yield `${count === 0 ? "\n" : ",\n"}${JSON.stringify(line)}`;
    sums.amount += amount;
    sums.income += income;
    count++;
  }
  const totals = { amount: exactUsd(sums.amount), income: exactUsd(sums.income) };
  yield `\n],"lineCount":${count},"totals":${JSON.stringify(totals)}}\n`;
}

/** A write for each line would cost more than the line. */
async function* inPieces(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let piece = "";
  for await (const text of texts) {
    piece += text;
    if (piece.length < PIECE) continue;
    yield piece;
    piece = "";
  }
  if (piece !== "") yield piece;
}
