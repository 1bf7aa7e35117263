/** Names that endpoints were shared under. Their account keeps them for a while, since others still send their inputs there. */
import { timestamp } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import { problem } from "../../kernel/problem.ts";
import { Collection, type Item } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import type { KeptPublicEndpoint } from "./model.ts";

/** Nobody else can share an endpoint under the name for this long. */
const HELD_MS = 30 * 24 * 3_600_000;
/** An account keeps this many names. Beyond that the oldest is free, so that nobody can hoard names. */
const MOST_HELD = 100;

/** The record of the sharing at its end. Callers of then find their jobs through it. */
type KeptFormerName = KeptPublicEndpoint & { endedAt: number };

const formerNames: Kept<KeptFormerName> = { kind: "former-public-endpoint", called: "public endpoint", v: 1 };

export class FormerNames {
  readonly #former: Collection<KeptFormerName>;

  constructor({ store }: { store: Store }) {
    this.#former = new Collection(store, formerNames);
  }

  prepare(): Promise<void> {
    return this.#former.prepare();
  }

  get(name: string): Promise<Item<KeptFormerName> | undefined> {
    return this.#former.get(name);
  }

  /** What to write when an account shares an endpoint under this name. Refused if another account keeps the name. */
  async taking(account: string, name: string, now: number): Promise<Write[]> {
    const held = await this.#former.get(name);
    if (!held) return [];
    const freeAt = held.doc.endedAt + HELD_MS;
    if (held.account !== account && now < freeAt)
      throw problem(
        "rule-broken",
        `Another account shared an endpoint as '${name}' until ${timestamp(held.doc.endedAt)}, and its callers may still use the name. ` +
          `It is free from ${timestamp(freeAt)}.`,
      );
    return [this.#former.removing(name, held.version)];
  }

  /** What to write when the sharing ends. */
  async leaving({ id, account, doc }: Item<KeptPublicEndpoint>, now: number): Promise<Write[]> {
    const held = await this.#former.list({ account, limit: MOST_HELD + 1 });
    const isDropped = ({ doc: { endedAt } }: Item<KeptFormerName>, i: number) =>
      i >= MOST_HELD - 1 || endedAt + HELD_MS <= now;
    return [
      this.#former.inserting({ id, account, createdAt: now, doc: { ...doc, endedAt: now } }),
      ...held.filter(isDropped).map(({ id, version }) => this.#former.removing(id, version)),
    ];
  }
}
