/** Finds what machines of a node that is gone still have: things of accounts, and things that were only to be cleaned up there. */
import type { InstanceRecords } from "../../machines/instance-records.ts";
import { type InstanceItem, placeOf } from "../../machines/instances.ts";
import type { KnownMachine } from "../../machines/known.ts";
import type { ModelRecords } from "../models/records.ts";
import { isPodInstance } from "../pods/instance.ts";
import type { PodKeys } from "../pods/keys.ts";
import type { PodRecords } from "../pods/records.ts";
import type { PodRemains } from "../pods/remains.ts";
import type { PortVisits } from "../pods/visits.ts";
import type { MachineKeys } from "../secrets/machine-keys.ts";
import type { VolumeRecords } from "../volumes/records.ts";

export interface HoldingsParts {
  instanceRecords: Pick<InstanceRecords, "all">;
  podRecords: Pick<PodRecords, "pods" | "leave">;
  podKeys: Pick<PodKeys, "removeOf">;
  portVisits: Pick<PortVisits, "removeOf">;
  podRemains: PodRemains;
  volumeRecords: Pick<VolumeRecords, "volumes" | "removed">;
  modelRecords: ModelRecords;
  machineKeys: Pick<MachineKeys, "remove">;
}

export interface Held {
  /** Things of accounts and of the operator, in words. */
  held: string[];
  /** Things that somebody deleted already, and that the machine removes when it is back, in words. */
  left: string[];
}

export class Holdings {
  readonly #parts: HoldingsParts;

  constructor(parts: HoldingsParts) {
    this.#parts = parts;
  }

  async of(owned: readonly Pick<KnownMachine, "id">[]): Promise<Held> {
    const ids = new Set(owned.map(({ id }) => id));
    if (ids.size === 0) return { held: [], left: [] };
    const instances = (await this.#parts.instanceRecords.all()).filter(
      (item) => ids.has(item.doc.machine ?? "") && placeOf(item).length > 0,
    );
    const { pods, ending } = await this.#podsOn(ids, instances);
    const workers = instances.filter((item) => !isPodInstance(item)).length;
    const volumes = await countOf(this.#parts.volumeRecords.volumes.all(), ({ doc }) => ids.has(doc.machine ?? ""));
    const removed = await countOf(this.#parts.volumeRecords.removed.all(), ({ doc }) => ids.has(doc.machine ?? ""));
    return {
      held: [
        ...inWords(pods, "Pod", "Pods"),
        ...inWords(workers, "worker", "workers"),
        ...inWords(volumes, "network volume", "network volumes"),
        ...inWords(await this.#onlyCopiesOn(ids), "model", "models", "that no other machine has"),
      ],
      left: [
        ...inWords(Math.max(ending, await this.#remainsOn(ids)), "deleted Pod", "deleted Pods", "to clean up"),
        ...inWords(removed, "deleted network volume", "deleted network volumes", "to clean up"),
      ],
    };
  }

  /** Forgets what a removed machine was to clean up, and its copies of models. */
  async forget(machine: string, lastSeenAt: number): Promise<void> {
    const { instanceRecords, podRecords, podRemains, volumeRecords, modelRecords, machineKeys } = this.#parts;
    for (const item of await instanceRecords.all())
      if (item.doc.machine === machine && isPodInstance(item)) await podRecords.leave(item, { at: lastSeenAt });
    for (const remains of await podRemains.on(machine)) await this.#forgetPod(remains);
    for await (const { id, doc } of volumeRecords.removed.all())
      if (doc.machine === machine) await volumeRecords.removed.removeIfThere(id);
    for (const { id } of await modelRecords.copiesAt(machine)) await modelRecords.copies.removeIfThere(id);
    await machineKeys.remove(machine);
  }

  /** A Pod that was on a removed machine once names it when it is deleted later. */
  async forgetUnknown(known: ReadonlySet<string>): Promise<void> {
    const { podRemains } = this.#parts;
    for await (const remains of podRemains.all()) if (!known.has(remains.machine)) await this.#forgetPod(remains);
  }

  async #forgetPod({ id, pod }: { id: string; pod: string }): Promise<void> {
    const { podRemains, podKeys, portVisits } = this.#parts;
    await podKeys.removeOf(pod);
    await portVisits.removeOf(pod);
    await podRemains.areGone(id);
  }

  /** Pods that have a program or a persistent mount there, and programs of Pods that are deleted already. */
  async #podsOn(ids: ReadonlySet<string>, instances: readonly InstanceItem[]) {
    const pods = new Set<string>();
    for await (const { id, doc } of this.#parts.podRecords.pods.all())
      if (doc.mounts.persistent && ids.has(doc.last?.machine ?? "")) pods.add(id);
    let ending = 0;
    for (const { doc } of instances.filter(isPodInstance))
      if (await this.#parts.podRecords.pods.get(doc.owner)) pods.add(doc.owner);
      else ending++;
    return { pods: pods.size, ending };
  }

  async #remainsOn(ids: ReadonlySet<string>): Promise<number> {
    const found = await Promise.all([...ids].map((id) => this.#parts.podRemains.on(id)));
    return found.flat().length;
  }

  async #onlyCopiesOn(ids: ReadonlySet<string>): Promise<number> {
    const { modelRecords } = this.#parts;
    const here = (await Promise.all([...ids].map((id) => modelRecords.copiesAt(id)))).flat();
    const models = new Set(here.filter(({ doc }) => doc.state === "READY").map(({ doc }) => doc.model));
    const isOnly = async (model: string) =>
      !(await modelRecords.copiesOf(model)).some(({ doc }) => doc.state === "READY" && !ids.has(doc.holder));
    const only = await Promise.all([...models].map(isOnly));
    return only.filter(Boolean).length;
  }
}

const inWords = (count: number, one: string, many: string, what = ""): string[] =>
  count > 0 ? [`${count} ${count === 1 ? one : many} ${what}`.trim()] : [];

async function countOf<T>(items: AsyncIterable<T>, counts: (item: T) => boolean): Promise<number> {
  let count = 0;
  for await (const item of items) if (counts(item)) count++;
  return count;
}
