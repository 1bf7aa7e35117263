/** The SSH host key. Clients recognize the installation by it. All nodes share one, which is made once and sealed. */
import type { Clock } from "../../kernel/clock.ts";
import type { Kept } from "../../kernel/document.ts";
import type { Random } from "../../kernel/random.ts";
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { WriteRefused } from "../../ports/store/store.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";

type KeptHostKey = { sealed: Sealed };

const hostKeys: Kept<KeptHostKey> = { kind: "ssh-host-key", v: 1 };
const ONLY = "only";
/** The key belongs to the whole installation, not to an account. */
const EVERYONE = "*";
const CONTEXT = "ssh-host-key";
const SEED_BYTES = 32;

export class SshHostKey {
  readonly #kept: Collection<KeptHostKey>;
  readonly #vault: Vault;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ store, vault, clock, random }: RecordParts & { vault: Vault }) {
    this.#kept = new Collection(store, hostKeys);
    this.#vault = vault;
    this.#clock = clock;
    this.#random = random;
  }

  prepare(): Promise<void> {
    return this.#kept.prepare();
  }

  /** The seed of an Ed25519 key. If several nodes make one at once, all of them get the one that was written first. */
  async seed(): Promise<Buffer> {
    for (;;) {
      const kept = await this.#kept.get(ONLY);
      if (kept) return Buffer.from(await this.#vault.open(kept.doc.sealed, CONTEXT), "base64");
      const made = Buffer.from(this.#random.bytes(SEED_BYTES)).toString("base64");
      const doc = { sealed: await this.#vault.seal(made, CONTEXT) };
      try {
        await this.#kept.insert({ id: ONLY, account: EVERYONE, createdAt: this.#clock.now(), doc });
      } catch (error) {
        if (!(error instanceof WriteRefused)) throw error;
      }
    }
  }

  /** Passes the sealed key through `change`. Returns how many keys changed. */
  async reseal(change: (sealed: Sealed) => Sealed | undefined): Promise<number> {
    const kept = await this.#kept.get(ONLY);
    const sealed = kept && change(kept.doc.sealed);
    if (!sealed) return 0;
    await this.#kept.patch(kept, { sealed });
    return 1;
  }
}
