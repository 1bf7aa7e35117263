/** Records what a terminated Pod has left on a machine, until the node of that machine has removed it. */
import type { Kept } from "../../kernel/document.ts";
import { Collection } from "../../ports/store/collection.ts";
import type { Store, Write } from "../../ports/store/store.ts";
import type { PodItem } from "./records.ts";

export type Remains = { pod: string; machine: string };

const podRemains: Kept<Remains> = { kind: "pod-remains", v: 1, listed: ({ machine }) => ({ machine }) };

/** These records belong to no account, since they outlive the account of the Pod. */
const EVERYONE = "*";

export class PodRemains {
  readonly #remains: Collection<Remains>;

  constructor({ store }: { store: Store }) {
    this.#remains = new Collection(store, podRemains);
  }

  prepare(): Promise<void> {
    return this.#remains.prepare();
  }

  /** Commit these writes together with the removal of the Pod. There is one for each machine that it was ever on. */
  leaving({ id, createdAt, doc }: PodItem): Write[] {
    return doc.machines.map((machine) =>
      this.#remains.inserting({ id: `${id}.${machine}`, account: EVERYONE, createdAt, doc: { pod: id, machine } }),
    );
  }

  /** What terminated Pods have left on this machine. */
  async on(machine: string): Promise<{ id: string; pod: string }[]> {
    const found: { id: string; pod: string }[] = [];
    for await (const { id, doc } of this.#remains.all({ key: { name: "machine", value: machine } }))
      found.push({ id, pod: doc.pod });
    return found;
  }

  /** What terminated Pods have left on any machine. */
  async *all(): AsyncGenerator<{ id: string } & Remains> {
    for await (const { id, doc } of this.#remains.all()) yield { id, ...doc };
  }

  async areGone(id: string): Promise<void> {
    await this.#remains.removeIfThere(id);
  }
}
