/** The roll of machines that run instances: this node's own, and those of other nodes as last reported. */
import type { Load, LoadDemand } from "../balancing/balanced-group.ts";
import type { Clock } from "../kernel/clock.ts";
import type { SpanEnd } from "../ports/compute/spans.ts";
import type { Volumes } from "../ports/compute/volumes.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import { Aways } from "./aways.ts";
import type { Drains } from "./drains.ts";
import { Holds } from "./holds.ts";
import { type Known, knownIn } from "./known.ts";
import { EVERYONE, type KeptMachine, type KeptNode, machines, nodes, removeOldSightings } from "./nodes.ts";
import type { OwnMachine } from "./own-machine.ts";
import type { Machine, VolumeStorage } from "./place.ts";
import { type Silence, Silences } from "./silences.ts";

/** Which nodes and machines are there, and what other nodes report about workers and load. */
export interface Roll {
  /** Machines that are not silent. */
  machines: Machine[];
  /** Silent machines of other nodes. */
  silent: ReadonlyMap<string, Silence>;
  activeAt: ReadonlyMap<string, number>;
  /** What requests that arrived at other nodes demand of load-balancing endpoints. */
  demand: ReadonlyMap<string, LoadDemand>;
  peers: readonly Peer[];
}

/** A node as others see it. */
export interface NodeIdentity {
  id: string;
  /** The URL for other nodes. It is known once the node listens. */
  url: () => string;
  /** The URL for workers that people start themselves. */
  workerUrl: () => string;
  /** The version of Millrace. */
  version?: string;
}

/** Another node that is not gone. */
export interface Peer {
  id: string;
  url: string | undefined;
  /** When the node last reported, by its own clock. */
  seenAt: number;
  /** Its next report is overdue. */
  isSilent: boolean;
  machines: readonly string[];
  loads: Readonly<Record<string, Load>>;
}

export interface MachinesParts {
  store: Store;
  clock: Clock;
  node: NodeIdentity;
  /** The machines on which this node runs instances. */
  own: readonly Pick<OwnMachine, "id" | "compute" | "site" | "runs">[];
  drains: Pick<Drains, "all">;
  /** This process is the only node, so there is nobody to ask. */
  alone: boolean;
  /** Called with the other nodes each time they were read. */
  heard: (peers: readonly Peer[]) => void;
}

export class Machines {
  readonly #machines: Collection<KeptMachine>;
  readonly #nodes: Collection<KeptNode>;
  readonly #parts: MachinesParts;
  readonly #own = new Map<string, Machine>();
  readonly #aways: Aways;
  #ready: Promise<void> | undefined;
  /** When an earlier process last reported this node, or undefined if there was none. */
  seenBefore: number | undefined;
  readonly silences: Silences;
  readonly holds: Holds;

  constructor(parts: MachinesParts) {
    this.#parts = parts;
    const { node, own } = parts;
    this.holds = new Holds({ ...parts, holder: node.id, named: own.map(({ id }) => id) });
    this.silences = new Silences(parts);
    this.#aways = new Aways(parts.clock);
    this.#machines = new Collection(parts.store, machines);
    this.#nodes = new Collection(parts.store, nodes);
  }

  /** Runs once, before anything else: checks this node's own machines and reads when an earlier process last reported. */
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

  /**
   * Takes those of this node's machines that no other node holds. Resolves to true if one was gained, whose instances are not known yet.
   */
  async hold(now: number): Promise<boolean> {
    const gained = await this.holds.renew(now);
    for (const machine of this.#parts.own) if (gained.includes(machine.id)) await this.#lookAt(machine, now);
    return gained.length > 0;
  }

  /** Checks this node's own machines and records their changes for other nodes. */
  async look(now: number): Promise<void> {
    for (const machine of this.#parts.own)
      if (this.holds.has(machine.id)) await this.#lookAt(machine, now);
      else this.#own.delete(machine.id);
  }

  /** Returns the available machines of all nodes, and the other nodes that are not gone. */
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

  /** Returns all nodes and machines on record. */
  known(): Promise<Known> {
    const { store, node, own, clock } = this.#parts;
    const said = { machines: own.map(({ id }) => id), url: node.url(), ...(node.version && { version: node.version }) };
    const self = { id: node.id, now: clock.now(), node: said, machines: this.#own };
    return knownIn({ store, silences: this.silences, self });
  }

  /** When the machine's node last reported, by its own clock. */
  async lastSeen(machine: string): Promise<number | undefined> {
    const node = (await this.#machines.get(machine))?.doc.node;
    return node === undefined ? undefined : (await this.#nodes.get(node))?.doc.seenAt;
  }

  /** How these machines are reached for networks that they share. Machines that are not, or are not known, are left out. */
  async endsOf(ids: readonly string[]): Promise<SpanEnd[]> {
    const found = await Promise.all(ids.map(async (id) => (await this.#machines.get(id))?.doc.spanning?.end));
    return found.filter((end) => end !== undefined);
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
      // A machine that several nodes name belongs to the node that holds it.
      const machines = there.map((machine) => machine.id);
      peers.push({ id, url, seenAt, isSilent: silence !== undefined, machines, loads });
      for (const [worker, at] of Object.entries(doc.activeAt)) activeAt.set(worker, at);
    }
    this.silences.looked(silent);
    this.#parts.heard(peers);
    // While a machine changes hands, two nodes may take it for their own. Listed twice, it would be given away twice.
    const own = new Set(mine.map(({ id }) => id));
    const elsewhere = others.filter(({ id }) => !own.has(id));
    return { machines: [...mine, ...elsewhere], silent, activeAt, demand: demandAt(peers), peers };
  }

  /** Returns nothing while another node runs the machine, or if nobody has reported it yet. */
  async #machineOf(node: string, id: string): Promise<Machine[]> {
    const doc = (await this.#machines.get(id))?.doc;
    if (doc?.node !== node) return [];
    const { node: _, ...said } = doc;
    return [{ id, ...said }];
  }

  /** While this node was silent, its machine may have been removed, or another node may have had it. */
  async #isOnRecord(id: string): Promise<boolean> {
    const { alone, node } = this.#parts;
    return alone || (await this.#machines.get(id))?.doc.node === node.id;
  }

  async #lookAt({ id, compute, site, runs }: MachinesParts["own"][number], now: number): Promise<void> {
    const [boxes, away] = [await compute.capacity(), await this.#aways.of({ id, compute })];
    const { dataCenter, isEverywhere } = site;
    const volumes = volumesOf(compute.volumes);
    const place = { boxes, dataCenter, away, ...(isEverywhere && { isEverywhere }) };
    const groups = compute.networks !== undefined;
    // A node alone has no other machine to share a network with.
    const spanning = this.#parts.alone ? undefined : compute.networks?.spanning;
    const shared = { groups, ...(spanning && { spanning }) };
    const said = { ...place, ...(volumes && { volumes }), ...shared, ...(runs && { runs }) };
    const machine = { id, ...said };
    if (JSON.stringify(machine) !== JSON.stringify(this.#own.get(id)) || !(await this.#isOnRecord(id))) {
      const doc = { node: this.#parts.node.id, ...said };
      await this.#machines.put({ id, account: EVERYONE, createdAt: now, doc }, OPTIONAL);
    }
    this.#own.set(id, machine);
  }
}

/** What a machine may have lost since it was last recorded. */
const OPTIONAL = ["isEverywhere", "volumes", "spanning", "runs"] as const;

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
