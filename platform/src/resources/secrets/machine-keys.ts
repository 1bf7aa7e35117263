/** The keys with which machines encrypt what they send to each other: one for each machine, made once and sealed. */
import type { Kept } from "../../kernel/document.ts";
import { Collection, type RecordParts } from "../../ports/store/collection.ts";
import { WriteRefused } from "../../ports/store/store.ts";
import type { Sealed, Vault } from "../../ports/vault/vault.ts";

type KeptMachineKey = { sealed: Sealed };

const machineKeys: Kept<KeptMachineKey> = { kind: "machine-key", v: 1 };
/** Machines belong to the whole installation. */
const EVERYONE = "*";
const KEY_BYTES = 32;

const contextOf = (machine: string) => `machine-key ${machine}`;

export class MachineKeys {
  readonly #kept: Collection<KeptMachineKey>;
  readonly #parts: RecordParts & { vault: Vault };

  constructor(parts: RecordParts & { vault: Vault }) {
    this.#kept = new Collection(parts.store, machineKeys);
    this.#parts = parts;
  }

  prepare(): Promise<void> {
    return this.#kept.prepare();
  }

  /** The private key of a machine, as base64. It is made when it is first asked for. */
  async of(machine: string): Promise<string> {
    const { vault, random, clock } = this.#parts;
    for (;;) {
      const kept = await this.#kept.get(machine);
      if (kept) return vault.open(kept.doc.sealed, contextOf(machine));
      const made = Buffer.from(random.bytes(KEY_BYTES)).toString("base64");
      const doc = { sealed: await vault.seal(made, contextOf(machine)) };
      try {
        await this.#kept.insert({ id: machine, account: EVERYONE, createdAt: clock.now(), doc });
      } catch (error) {
        if (!(error instanceof WriteRefused)) throw error;
      }
    }
  }

  /** Forgets the key of a machine that is gone for good. */
  async remove(machine: string): Promise<void> {
    await this.#kept.removeIfThere(machine);
  }

  /** Passes every sealed key through `change`. Returns how many changed. */
  async reseal(change: (sealed: Sealed, machine: string) => Sealed | undefined): Promise<number> {
    let changed = 0;
    for await (const kept of this.#kept.all()) {
      const sealed = change(kept.doc.sealed, kept.id);
      if (sealed) await this.#kept.patch(kept, { sealed });
      if (sealed) changed++;
    }
    return changed;
  }
}
