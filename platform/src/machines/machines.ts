/** The roll of machines that run instances: this node's own, and those of other nodes as they last said. */
import type { Load, LoadDemand } from "../balancing/balanced-group.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Volumes } from "../ports/compute/volumes.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Drains } from "./drains.ts";
import { Holds } from "./holds.ts";
import { type Known, knownIn } from "./known.ts";
import { EVERYONE, type KeptMachine, type KeptNode, machines, nodes, removeOldSightings } from "./nodes.ts";
import type { OwnMachine } from "./own-machine.ts";
import type { Machine, VolumeStorage } from "./place.ts";
import { type Silence, Silences } from "./silences.ts";

/** Who is there, and when workers were last active, as far as other nodes must be asked for it. */
export interface Roll {
  /** Those that are heard of. */
  machines: Machine[];
  /** Those of other nodes that are not. */
  silent: ReadonlyMap<string, Silence>;
  activeAt: ReadonlyMap<string, number>;
  /** What requests to load-balancing endpoints that came to other nodes ask for. */
  demand: ReadonlyMap<string, LoadDemand>;
  peers: readonly Peer[];
}

/** A node as others see it. */
export interface NodeIdentity {
  id: string;
  /** Where other nodes reach it; known once it listens. */
  url: () => string;
  /** Where workers that people start reach it. */
  workerUrl: () => string;
  /** Of the program. */
  version?: string;
}

/** Another node that is not gone. */
export interface Peer {
  id: string;
  url: string | undefined;
  /** When it last spoke, by its own clock. */
  seenAt: number;
  /** It should have spoken since. */
  isSilent: boolean;
  machines: readonly string[];
  loads: Readonly<Record<string, Load>>;
}

export interface MachinesParts {
  store: Store;
  clock: Clock;
  node: NodeIdentity;
  /** What this node runs instances on. */
  own: readonly Pick<OwnMachine, "id" | "compute" | "site" | "runs">[];
  drains: Pick<Drains, "all">;
  /** This process is all there is: nobody else must be asked. */
  alone: boolean;
  /** Told of the other nodes whenever they were looked at. */
  heard: (peers: readonly Peer[]) => void;
}

export class Machines {
  readonly #machines: Collection<KeptMachine>;
  readonly #nodes: Collection<KeptNode>;
  readonly #parts: MachinesParts;
  readonly #own = new Map<string, Machine>();
  #ready: Promise<void> | undefined;
  /** When the process before this one last said that the node was there; undefined when there was none. */
  seenBefore: number | undefined;
  readonly silences: Silences;
  readonly holds: Holds;

  constructor(parts: MachinesParts) {
    this.#parts = parts;
    const { node, own } = parts;
    this.holds = new Holds({ ...parts, holder: node.id, named: own.map(({ id }) => id) });
    this.silences = new Silences(parts);
    this.#machines = new Collection(parts.store, machines);
    this.#nodes = new Collection(parts.store, nodes);
  }

  /** Once, before anything else: this node's own machines are looked at, and what was said of it before is known. */
  prepared(): Promise<void> {
    this.#ready ??= this.#prepare().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #prepare(): Promise<void> {
    const { store, node, clock } = this.#parts;
    await this.#machines.prepare();
    await this.#nodes.prepare();
    await removeOldSightings(store);
    this.seenBefore = (await this.#nodes.get(node.id))?.doc.seenAt;
    await this.hold(clock.now());
    await this.look(clock.now());
  }

  /** Holds those of this node's machines that no other node holds. True when one was gained: what is there is not known yet. */
  async hold(now: number): Promise<boolean> {
    const gained = await this.holds.renew(now);
    for (const machine of this.#parts.own) if (gained.includes(machine.id)) await this.#lookAt(machine, now);
    return gained.length > 0;
  }

  /** Looks at this node's own machines. What has changed of them is on record for others. */
  async look(now: number): Promise<void> {
    for (const machine of this.#parts.own)
      if (this.holds.has(machine.id)) await this.#lookAt(machine, now);
      else this.#own.delete(machine.id);
  }

  /** Those that are there, of this node and of others, and the other nodes that were heard of lately. */
  async roll(): Promise<Roll> {
    await this.prepared();
    try {
      const draining = await this.#parts.drains.all();
      const marked = (machine: Machine): Machine =>
        draining.has(machine.id) ? { ...machine, isDraining: true } : machine;
      const mine = [...this.#own.values()].filter(({ id }) => this.holds.has(id));
      const roll = this.#parts.alone ? rollOf(mine) : await this.#rollOfAll(mine);
      return { ...roll, machines: roll.machines.map(marked) };
    } catch (error) {
      this.silences.couldNotLook();
      throw error;
    }
  }

  /** All that are on record. */
  known(): Promise<Known> {
    const { store, node, own, clock } = this.#parts;
    const said = { machines: own.map(({ id }) => id), url: node.url(), ...(node.version && { version: node.version }) };
    const self = { id: node.id, now: clock.now(), node: said, machines: this.#own };
    return knownIn({ store, silences: this.silences, self });
  }

  /** When a machine's node last spoke, by its own clock. */
  async lastSeen(machine: string): Promise<number | undefined> {
    const node = (await this.#machines.get(machine))?.doc.node;
    return node === undefined ? undefined : (await this.#nodes.get(node))?.doc.seenAt;
  }

  async #rollOfAll(mine: Machine[]): Promise<Roll> {
    const activeAt = new Map<string, number>();
    const others: Machine[] = [];
    const peers: Peer[] = [];
    const silent = new Map<string, Silence>();
    for await (const { id, doc } of this.#nodes.all()) {
      if (id === this.#parts.node.id) continue;
      const silence = this.silences.look(id, doc.seenAt);
      const there = (await Promise.all(doc.machines.map((machine) => this.#machineOf(id, machine)))).flat();
      if (silence) for (const machine of there) silent.set(machine.id, silence);
      else others.push(...there);
      if (silence?.isGone) continue;
      const { url, seenAt, loads = {} } = doc;
      // Of those that several nodes name, one holds each.
      const machines = there.map((machine) => machine.id);
      peers.push({ id, url, seenAt, isSilent: silence !== undefined, machines, loads });
      for (const [worker, at] of Object.entries(doc.activeAt)) activeAt.set(worker, at);
    }
    this.silences.looked(silent);
    this.#parts.heard(peers);
    return { machines: [...mine, ...others], silent, activeAt, demand: demandAt(peers), peers };
  }

  /** None while another node runs it, or nobody has said what it has. */
  async #machineOf(node: string, id: string): Promise<Machine[]> {
    const doc = (await this.#machines.get(id))?.doc;
    if (doc?.node !== node) return [];
    const { node: _, ...said } = doc;
    return [{ id, ...said }];
  }

  async #lookAt({ id, compute, site, runs }: MachinesParts["own"][number], now: number): Promise<void> {
    const boxes = await compute.capacity();
    const { dataCenter, isEverywhere } = site;
    const volumes = volumesOf(compute.volumes);
    const place = { boxes, dataCenter, ...(isEverywhere && { isEverywhere }) };
    const groups = compute.networks !== undefined;
    const said = { ...place, ...(volumes && { volumes }), groups, ...(runs && { runs }) };
    const machine = { id, ...said };
    if (JSON.stringify(machine) !== JSON.stringify(this.#own.get(id))) {
      const doc = { node: this.#parts.node.id, ...said };
      await this.#machines.put({ id, account: EVERYONE, createdAt: now, doc });
    }
    this.#own.set(id, machine);
  }
}

const rollOf = (machines: Machine[]): Roll => ({
  ...{ machines, silent: new Map(), activeAt: new Map(), demand: new Map(), peers: [] },
});

function volumesOf(volumes: Volumes | undefined): VolumeStorage | undefined {
  if (!volumes) return undefined;
  return volumes.shared ? "shared" : "own";
}

function demandAt(peers: readonly Peer[]): Map<string, LoadDemand> {
  const sum = new Map<string, LoadDemand>();
  const speaking = peers.filter(({ isSilent }) => !isSilent);
  for (const [endpoint, { waiting, inFlight, resume }] of speaking.flatMap(({ loads }) => Object.entries(loads))) {
    const before = sum.get(endpoint) ?? { waiting: 0, inFlight: 0, resume: [] };
    sum.set(endpoint, {
      waiting: before.waiting + waiting,
      inFlight: before.inFlight + inFlight,
      resume: [...before.resume, ...resume],
    });
  }
  return sum;
}
