/** The rules of what the owner of the installation sees of nodes and machines, and of draining machines. */
import type { LastSeen } from "../../kernel/cursor.ts";
import type { Duties, DutyStanding } from "../../kernel/duties.ts";
import { problem } from "../../kernel/problem.ts";
import type { Drains } from "../../machines/drains.ts";
import type { InstanceRecords } from "../../machines/instance-records.ts";
import { type InstanceItem, placeOf } from "../../machines/instances.ts";
import type { Known, KnownMachine, KnownNode } from "../../machines/known.ts";
import type { Free } from "../../machines/place.ts";
import { Room } from "../../machines/room.ts";
import { isPodInstance } from "../pods/instance.ts";
import { staysFor } from "../pods/leaving.ts";
import type { PodRecords } from "../pods/records.ts";
import type { GoneNodes } from "./gone-nodes.ts";
import { type MachineAction, type MachineState, SHOWN_INSTANCES } from "./model.ts";

export interface InstallationParts {
  known: () => Promise<Known>;
  drains: Drains;
  instanceRecords: InstanceRecords;
  podRecords: PodRecords;
  duties: Duties;
  goneNodes: GoneNodes;
  /** The id of this node. */
  node: string;
}

/** An instance on a machine. */
export interface Occupant {
  item: InstanceItem;
  /** Why the instance stays although the machine is being drained. */
  stays: string | undefined;
}

export interface SeenNode extends KnownNode {
  /** Why it stays in the list although it is silent. */
  stays: string | undefined;
}

export interface SeenMachine {
  machine: KnownMachine;
  state: MachineState;
  drainingSince: number | undefined;
  free: readonly Free[];
  occupants: readonly Occupant[];
  pods: number;
  workers: number;
}

interface Asked {
  after?: LastSeen | undefined;
  limit: number;
}

export class InstallationService {
  readonly #parts: InstallationParts;

  constructor(parts: InstallationParts) {
    this.#parts = parts;
  }

  get node(): string {
    return this.#parts.node;
  }

  /** The duties of this node only. */
  duties(): DutyStanding[] {
    return this.#parts.duties.all();
  }

  async nodes(asked: Asked): Promise<{ items: SeenNode[]; next: LastSeen | undefined }> {
    const known = await this.#parts.known();
    const { items, next } = pageIn(known.nodes, asked);
    const { goneNodes } = this.#parts;
    const seen = items.map(async (node) => ({ ...node, stays: await goneNodes.staysFor(node, known) }));
    return { items: await Promise.all(seen), next };
  }

  removeNode(id: string): Promise<void> {
    return this.#parts.goneNodes.remove(id);
  }

  async machines(asked: Asked): Promise<{ items: SeenMachine[]; next: LastSeen | undefined }> {
    const { items, next } = pageIn((await this.#parts.known()).machines, asked);
    const there = Map.groupBy(await this.#parts.instanceRecords.all(), ({ doc }) => doc.machine);
    const draining = await this.#parts.drains.all();
    const seen = items.map((machine) => this.#seen(machine, there.get(machine.id) ?? [], draining.get(machine.id)));
    return { items: await Promise.all(seen), next };
  }

  async instances(id: string, asked: Asked): Promise<{ items: Occupant[]; next: LastSeen | undefined }> {
    await this.#machine(id);
    const there = (await this.#on(id)).filter(isThere);
    const { items, next } = pageIn(there, asked);
    const isDraining = (await this.#parts.drains.all()).has(id);
    return { items: await this.#occupants(items, isDraining), next };
  }

  async act(id: string, action: MachineAction): Promise<SeenMachine> {
    const { drains } = this.#parts;
    const machine = await this.#machine(id);
    if (action === "drain") await drains.begin(id);
    else await drains.end(id);
    return this.#seen(machine, await this.#on(id), (await drains.all()).get(id));
  }

  async #machine(id: string): Promise<KnownMachine> {
    const machine = (await this.#parts.known()).machines.find((one) => one.id === id);
    if (!machine) throw problem("not-found", "machine not found");
    return machine;
  }

  async #on(machine: string): Promise<InstanceItem[]> {
    return (await this.#parts.instanceRecords.all()).filter(({ doc }) => doc.machine === machine);
  }

  async #seen(machine: KnownMachine, all: readonly InstanceItem[], since: number | undefined): Promise<SeenMachine> {
    const there = all.filter(isThere);
    const { items } = pageIn(there, { limit: SHOWN_INSTANCES });
    const pods = there.filter(isPodInstance).length;
    return {
      machine,
      state: stateOf(machine, since, there.length),
      drainingSince: since,
      free: new Room([machine], there.flatMap(placeOf)).all(),
      occupants: await this.#occupants(items, since !== undefined),
      pods,
      workers: there.length - pods,
    };
  }

  #occupants(items: readonly InstanceItem[], isDraining: boolean): Promise<Occupant[]> {
    const { podRecords } = this.#parts;
    return Promise.all(
      items.map(async (item) => {
        if (!isDraining) return { item, stays: undefined };
        if (!isPodInstance(item)) return { item, stays: "it ends when it has done the jobs it has" };
        return { item, stays: staysFor(item, await podRecords.pods.get(item.doc.owner)) };
      }),
    );
  }
}

/** Whether the instance has a place on a machine. */
const isThere = (item: InstanceItem) => placeOf(item).length > 0;

function stateOf({ silence }: KnownMachine, drainingSince: number | undefined, there: number): MachineState {
  if (silence) return "SILENT";
  if (drainingSince === undefined) return "UP";
  return there > 0 ? "DRAINING" : "DRAINED";
}

/** A page of a complete list, the newest first. */
function pageIn<T extends LastSeen>(all: readonly T[], { after, limit }: Asked) {
  const order = (a: LastSeen, b: LastSeen) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
  const left = all.filter((one) => !after || order(after, one) < 0).toSorted(order);
  const items = left.slice(0, limit);
  return { items, next: left.length > limit ? items.at(-1) : undefined };
}
