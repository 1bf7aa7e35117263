/** Keeps the audit log within its bounds: removes entries that are too old, and the oldest entries of accounts that have too many. */

import { type Duty, every } from "../../kernel/background.ts";
import { type Clock, turn } from "../../kernel/clock.ts";
import type { LastSeen } from "../../kernel/cursor.ts";
import type { Failed } from "../../kernel/failed.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type Selected } from "../../ports/store/collection.ts";
import type { Store } from "../../ports/store/store.ts";
import { type Account, accounts } from "../account/model.ts";
import { auditEntries, type KeptAuditEntry } from "./model.ts";
import { newEntry } from "./service.ts";

export interface AuditSweeperParts {
  store: Store;
  clock: Clock;
  random: Random;
  failed: Failed;
  /** Whether it is this node's turn to sweep. */
  mine?: ((now: number) => Promise<boolean>) | undefined;
  days: number;
  /** The most entries that one account may have. The default fits on a disk however many accounts there are. */
  most?: number;
}

const EVERY_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;
const MOST_ENTRIES = 100_000;
/** Entries removed in one commit. It is small, so that other changes do not wait long. */
const SLICE = 200;
const SLICES_A_ROUND = 100;
/** The share of the limit that an account keeps once it went over it, so that it is not trimmed again at each sweep. */
const LEFT_OF = 0.9;
const PAGE = 500;

export class AuditSweeper implements AsyncDisposable {
  readonly #parts: AuditSweeperParts;
  readonly #entries: Collection<KeptAuditEntry>;
  readonly #accounts: Collection<Account>;
  readonly #sweeping: Duty;

  constructor(parts: AuditSweeperParts) {
    this.#parts = parts;
    this.#entries = new Collection(parts.store, auditEntries);
    this.#accounts = new Collection(parts.store, accounts);
    this.#sweeping = every(
      parts.clock,
      { name: "expire audit entries", everyMs: EVERY_MS },
      (now) => this.sweep(now),
      parts.failed,
    );
  }

  async sweep(now: number): Promise<void> {
    const { mine, days } = this.#parts;
    if (mine && !(await mine(now))) return;
    await this.#removeBeyond({}, { createdAt: now - days * DAY_MS, id: "" });
    for await (const { id } of this.#accounts.all()) await this.#trim(id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sweeping[Symbol.asyncDispose]();
  }

  async #trim(account: string): Promise<void> {
    const { most = MOST_ENTRIES } = this.#parts;
    if ((await this.#entries.count({ account })) <= most) return;
    const last = await this.#entryAt(account, Math.floor(most * LEFT_OF));
    if (!last) return;
    const removed = await this.#removeBeyond({ account }, last);
    const reason = `the account had more than ${most} entries: the oldest ${removed} were removed`;
    const actor = { type: "system" } as const;
    const doc = { account, actor, operation: "removeAuditEntries", outcome: "done", reason } as const;
    await this.#entries.insert({ ...newEntry(this.#parts, account), doc: { ...doc, fields: [] } });
  }

  /** Finds the last of the `newer` newest entries. */
  async #entryAt(account: string, newer: number): Promise<LastSeen | undefined> {
    let after: LastSeen | undefined;
    for (let left = newer; left > 0; left -= PAGE) {
      after = (await this.#entries.list({ account, after, limit: Math.min(PAGE, left) })).at(-1);
      await turn();
    }
    return after;
  }

  async #removeBeyond(selected: Selected, after: LastSeen): Promise<number> {
    let removed = 0;
    for (let slice = 0; slice < SLICES_A_ROUND; slice++) {
      const beyond = await this.#entries.list({ ...selected, after, limit: SLICE });
      if (beyond.length === 0) break;
      // Some entry is gone already: another node had this turn too, or the account was deleted. Then each entry is removed by itself.
      await this.#parts.store
        .commit(beyond.map(({ id }) => this.#entries.removing(id)))
        .catch(() => Promise.all(beyond.map(({ id }) => this.#entries.removeIfThere(id))));
      removed += beyond.length;
      if (beyond.length < SLICE) break;
      await turn();
    }
    return removed;
  }
}
