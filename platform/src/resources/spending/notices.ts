/** Warns accounts when a limit or credit is nearly used up, and when it is used up. Each warning is recorded once, also across crashes. */

import { signatureOf } from "../../jobs/webhook-signature.ts";
import type { Post } from "../../jobs/webhooks.ts";
import { type Duty, every } from "../../kernel/background.ts";
import { type Clock, timestamp } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import type { Failed } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import { usdOf } from "../../kernel/money.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import { type Store, WriteRefused } from "../../ports/store/store.ts";
import { type KeptSpendNotice, spendNotices } from "./model.ts";
import type { SpendBook, Use } from "./service.ts";

export interface SpendNoticeParts {
  store: Store;
  clock: Clock;
  log: Log;
  spending: SpendBook;
  post: Post;
  secret?: string | undefined;
  /** Whether it is this node's turn. */
  mine?: ((now: number) => Promise<boolean>) | undefined;
  failed: Failed;
}

const DUTY = "send spend notices";
const LOOK_MS = 3000;
const HOUR_MS = 3_600_000;
/** The thresholds in percent. */
const THRESHOLDS = [80, 100] as const;
const TRIES = 3;
const RETRY_AFTER_MS = 10_000;
/** If the server crashes while it sends a warning, the warning is sent again after this time. */
const SENDING_MS = 30_000;
/** An account has so many warnings sent one after another before it is another account's turn. */
const IN_A_TURN = 10;
const ACCOUNTS_AT_ONCE = 64;
const READ_AT_ONCE = 100;
/** Longer than the month in which a warning could be written again. */
const KEPT_MS = 70 * 24 * HOUR_MS;

export class SpendNotices implements AsyncDisposable {
  readonly #parts: SpendNoticeParts;
  readonly #notices: Collection<KeptSpendNotice>;
  readonly #looking: Duty;
  /** The newest serial that is known to be written, by the id of the notice. */
  readonly #written = new Map<string, number>();
  #clearedAt = Number.NEGATIVE_INFINITY;
  /** The accounts whose warnings are being sent, each one after another. */
  readonly #sending = new Map<string, Promise<void>>();

  constructor(parts: SpendNoticeParts) {
    this.#parts = parts;
    this.#notices = new Collection(parts.store, spendNotices);
    this.#looking = every(parts.clock, { name: DUTY, everyMs: LOOK_MS }, (now) => this.look(now), parts.failed);
  }

  async look(now: number): Promise<void> {
    const { mine, spending } = this.#parts;
    if (mine && !(await mine(now))) return;
    for await (const { account, webhook, uses } of spending.uses())
      for (const use of uses) await this.#write(account, webhook, use, now);
    for (const [account, notices] of await this.#ready(now)) this.#begin(account, notices);
    await this.#clear(now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking[Symbol.asyncDispose]();
    await Promise.all(this.#sending.values());
  }

  /** The next warnings of each account that is not being sent any. */
  async #ready(now: number): Promise<Map<string, Item<KeptSpendNotice>[]>> {
    const ready = new Map<string, Item<KeptSpendNotice>[]>();
    for await (const notice of this.#notices.all({ key: { name: "due", value: "yes" } })) {
      const { account, doc } = notice;
      if (doc.dueAt! > now || this.#sending.has(account)) continue;
      const its = ready.get(account) ?? [];
      if (its.length < IN_A_TURN) ready.set(account, [...its, notice]);
    }
    return ready;
  }

  /** Nobody waits for this, so an account whose target is slow delays only its own warnings. */
  #begin(account: string, notices: readonly Item<KeptSpendNotice>[]): void {
    if (this.#sending.size >= ACCOUNTS_AT_ONCE) return;
    const sent = this.#sendAll(notices)
      .catch((error) => this.#parts.failed(error, DUTY))
      .finally(() => this.#sending.delete(account));
    this.#sending.set(account, sent);
  }

  async #sendAll(notices: readonly Item<KeptSpendNotice>[]): Promise<void> {
    for (const notice of notices) await this.#send(notice, this.#parts.clock.now());
  }

  /** The id is the same on every node and after every restart, so a notice is never written twice. */
  async #write(
    account: string,
    url: string,
    { id: whose, serial, used, most, about }: Use,
    now: number,
  ): Promise<void> {
    for (const threshold of THRESHOLDS) {
      const id = `${whose}-${threshold}`;
      if (used * 100 < most * threshold || (this.#written.get(id) ?? -1) >= serial) continue;
      const event = threshold === 100 ? "spend.reached" : "spend.warning";
      const figures = { threshold, spent: usdOf(used), limit: usdOf(most) };
      const message = { id: `${id}-${serial}`, event, account, at: timestamp(now), ...about, ...figures };
      const doc: KeptSpendNotice = { url, serial, message, tries: 0, dueAt: now };
      const isNew = await unlessRefused(this.#notices.insert({ id, account, createdAt: now, doc }));
      if (!isNew)
        await this.#notices.change(id, (known) => (known.doc.serial < serial ? { set: { ...doc } } : undefined));
      this.#written.set(id, serial);
    }
  }

  /** Moves the due time before it sends, so that two nodes never send the same notice at once. */
  async #send(notice: Item<KeptSpendNotice>, now: number): Promise<void> {
    const tries = notice.doc.tries + 1;
    const taken = await unlessRefused(this.#notices.patch(notice, { tries, dueAt: now + SENDING_MS }));
    if (!taken) return;
    const said = await this.#posted(taken.doc, now);
    if (said !== undefined)
      this.#parts.log.warn(
        { notice: taken.id, target: originOf(taken.doc.url), said, tries },
        "spend warning not delivered",
      );
    const isOver = said === undefined || tries >= TRIES;
    await unlessRefused(
      this.#notices.patch(taken, { dueAt: isOver ? null : this.#parts.clock.now() + RETRY_AFTER_MS }),
    );
  }

  /** Returns undefined if the message arrived, else what went wrong. */
  async #posted({ url, message }: KeptSpendNotice, now: number): Promise<string | undefined> {
    const { post, secret } = this.#parts;
    try {
      const body = [Buffer.from(JSON.stringify(message))];
      const { status } = await post(url, body, await signatureOf(body, secret, now));
      return status >= 200 && status < 300 ? undefined : `status ${status}`;
    } catch (error) {
      return (error as Error).message.slice(0, 200);
    }
  }

  async #clear(now: number): Promise<void> {
    if (now - this.#clearedAt < HOUR_MS) return;
    this.#clearedAt = now;
    this.#written.clear();
    await this.#parts.spending.settle(now);
    await this.#removeOld(now);
  }

  /** A warning about a credit stays, because the credit can stay used up for any time. An account has one for each threshold. */
  async #removeOld(now: number): Promise<void> {
    for (let after: LastSeen | undefined = { createdAt: now - KEPT_MS, id: "" }; after; ) {
      const page: Item<KeptSpendNotice>[] = await this.#notices.list({ after, limit: READ_AT_ONCE });
      for (const { id, doc } of page) if (doc.message.month !== undefined) await this.#notices.removeIfThere(id);
      after = page.length === READ_AT_ONCE ? page.at(-1) : undefined;
    }
  }
}

/** Undefined if somebody else wrote first. */
async function unlessRefused<T>(write: Promise<T>): Promise<T | undefined> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof WriteRefused) return undefined;
    throw error;
  }
}

const originOf = (url: string) => new URL(url).origin;
