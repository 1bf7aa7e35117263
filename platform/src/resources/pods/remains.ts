/** What a Pod that is gone has left on a machine, until the node of that machine has removed it. */
import type { Kept } from "../../kernel/document.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import type { PodItem } from "./records.ts";

export type Remains = { pod: string; machine: string };

const podRemains: Kept<Remains> = { kind: "pod-remains", v: 1, listed: ({ machine }) => ({ machine }) };

/** They belong to no account: they outlive the one whose Pod it was. */
const EVERYONE = "*";

export class PodRemains {
  readonly #remains: Collection<Remains>;

  constructor({ store }: { store: Store }) {
    this.#remains = new Collection(store, podRemains);
  }

  prepare(): Promise<void> {
    return this.#remains.prepare();
  }

  /** To be committed with the removal of the Pod: one for each machine that it ever was on. */
  leaving({ id, createdAt, doc }: PodItem): Write[] {
    return doc.machines.map((machine) =>
      this.#remains.inserting({ id: `${id}.${machine}`, account: EVERYONE, createdAt, doc: { pod: id, machine } }),
    );
  }

  /** Those on a machine. */
  async on(machine: string): Promise<{ id: string; pod: string }[]> {
    const found: { id: string; pod: string }[] = [];
    for await (const { id, doc } of this.#remains.all({ key: { name: "machine", value: machine } }))
      found.push({ id, pod: doc.pod });
    return found;
  }

  async areGone(id: string): Promise<void> {
    await this.#remains.removeIfThere(id);
  }
}
