/** The machines that run workers: this node's own, and those of other nodes as they last said. */

import type { Load, LoadDemand } from "../balancing/balanced-group.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Kept } from "../kernel/document.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import type { Capacity, Compute } from "../ports/compute/compute.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Machine } from "./placer.ts";

export type KeptMachine = {
  capacity: Capacity;
  /** Where other nodes reach the one that owns it; what a release before this one wrote has none. */
  url?: string;
};
/** Apart from the machine, since it is written often and a machine may have thousands of devices. Also of nodes without a machine. */
export type Sighting = {
  seenAt: number;
  activeAt: Record<string, number>;
  /** What the node's balancer has, by endpoint. */
  loads?: Record<string, Load>;
  /** Where workers that people start reach the node. */
  workerUrl?: string;
};

export const machines: Kept<KeptMachine> = { kind: "machine", v: 1 };
export const sightings: Kept<Sighting> = { kind: "machine-seen", v: 1 };

/** Machines belong to the installation, not to an account. */
const EVERYONE = "*";
const BEAT_MS = 5000;
/** A machine that was not heard of for this long is gone, and so is all that ran there. */
const GONE_AFTER_MS = 30_000;

/** Who is there, and when workers were last active, as far as other nodes must be asked for it. */
export interface Roll {
  machines: Machine[];
  activeAt: ReadonlyMap<string, number>;
  /** What requests to load-balancing endpoints that came to other nodes ask for. */
  demand: ReadonlyMap<string, LoadDemand>;
  peers: readonly Peer[];
}

/** A node as others see it, by the id of its machine. */
export interface NodeIdentity {
  id: string;
  /** Where other nodes reach it; known once it listens. */
  url: () => string;
  /** Where workers that people start reach it. */
  workerUrl: () => string;
}

/** Another node that was heard of lately. */
export interface Peer {
  id: string;
  url: string | undefined;
  /** When it last spoke, by its own clock. */
  seenAt: number;
  loads: Readonly<Record<string, Load>>;
}

export interface MachinesParts {
  store: Store;
  clock: Clock;
  /** This node, where there are others. */
  node: NodeIdentity | undefined;
  /** This node's own driver, if it runs workers. */
  own: { id: string; compute: Compute } | undefined;
  /** This process is all there is: nobody else must be told or asked. */
  alone: boolean;
  /** When workers of this node were last active. */
  activity: () => Promise<Record<string, number>>;
  /** What this node's balancer has. */
  loads: () => Record<string, Load>;
  /** Told of the other nodes whenever they were looked at. */
  heard: (peers: readonly Peer[]) => void;
}

export class Machines {
  readonly #machines: Collection<KeptMachine>;
  readonly #sightings: Collection<Sighting>;
  readonly #parts: MachinesParts;
  #capacity: Capacity | undefined;
  #url: string | undefined;
  #saidAt = Number.NEGATIVE_INFINITY;
  #saidLoads = "";
  /** One word after the other: of two at once the store would refuse one. */
  readonly #saying = new OneAtATime();
  /** What each of the others last said, and when that was noticed here: no two machines' clocks must agree. */
  readonly #heardOf = new Map<string, { seenAt: number; noticedAt: number }>();

  constructor(parts: MachinesParts) {
    this.#parts = parts;
    this.#machines = new Collection(parts.store, machines);
    this.#sightings = new Collection(parts.store, sightings);
  }

  async prepare(): Promise<void> {
    await this.#machines.prepare();
    await this.#sightings.prepare();
  }

  /** Looks at this node's own machine, and says that it is there. What has changed for others is said without waiting for the beat. */
  async beat(now: number): Promise<void> {
    if (this.#parts.clock.monotonic() - this.#saidAt < BEAT_MS) await this.tell(now);
    else await this.#saying.run(() => this.#beat(now));
  }

  /** Says what this node's balancer has, unless that was said; true when it is news. */
  tell(now: number): Promise<boolean> {
    return this.#saying.run(async () => {
      if (this.#parts.alone || JSON.stringify(this.#parts.loads()) === this.#saidLoads) return false;
      await this.#say(now);
      return true;
    });
  }

  async roll(): Promise<Roll> {
    const { own, alone } = this.#parts;
    const mine = own && this.#capacity ? [{ id: own.id, capacity: this.#capacity }] : [];
    if (alone) return { machines: mine, activeAt: new Map(), demand: new Map(), peers: [] };
    try {
      return await this.#rollOfAll(mine);
    } catch (error) {
      // While the store cannot be read, no machine counts as gone: each is waited for anew.
      this.#heardOf.clear();
      throw error;
    }
  }

  async #rollOfAll(mine: Machine[]): Promise<Roll> {
    const activeAt = new Map<string, number>();
    const others: Machine[] = [];
    const peers: Peer[] = [];
    for await (const { id, doc } of this.#sightings.all()) {
      if (id === this.#id || this.#isGone(id, doc.seenAt)) continue;
      const machine = await this.#machines.get(id);
      if (machine) others.push({ id, capacity: machine.doc.capacity });
      peers.push({ id, url: machine?.doc.url, seenAt: doc.seenAt, loads: doc.loads ?? {} });
      for (const [worker, at] of Object.entries(doc.activeAt)) activeAt.set(worker, at);
    }
    this.#parts.heard(peers);
    return { machines: [...mine, ...others], activeAt, demand: demandAt(peers), peers };
  }

  get #id(): string | undefined {
    return this.#parts.own?.id ?? this.#parts.node?.id;
  }

  async #beat(now: number): Promise<void> {
    const { own, node, alone, clock } = this.#parts;
    const url = node?.url();
    const capacity = await own?.compute.capacity();
    const changed = url !== this.#url || JSON.stringify(capacity) !== JSON.stringify(this.#capacity);
    if (own && capacity && changed) {
      const doc = { capacity, ...(url && { url }) };
      await this.#machines.put({ id: own.id, account: EVERYONE, createdAt: now, doc });
    }
    this.#capacity = capacity;
    this.#url = url;
    if (!alone) await this.#say(now);
    this.#saidAt = clock.monotonic();
  }

  async #say(now: number): Promise<void> {
    const { activity, loads, node } = this.#parts;
    if (this.#id === undefined) return;
    const said = {
      seenAt: now,
      activeAt: await activity(),
      loads: loads(),
      ...(node && { workerUrl: node.workerUrl() }),
    };
    await this.#sightings.put({ id: this.#id, account: EVERYONE, createdAt: now, doc: said });
    this.#saidLoads = JSON.stringify(said.loads);
  }

  #isGone(id: string, seenAt: number): boolean {
    const nowMs = this.#parts.clock.monotonic();
    const heard = this.#heardOf.get(id);
    if (heard?.seenAt === seenAt) return nowMs - heard.noticedAt > GONE_AFTER_MS;
    this.#heardOf.set(id, { seenAt, noticedAt: nowMs });
    return false;
  }
}

/** Where workers reach the nodes that were heard of lately by their own clocks, the latest first; for a command that is no node. */
export async function workerUrlsOfNodes(store: Store, now: number): Promise<string[]> {
  const heard: { seenAt: number; workerUrl: string }[] = [];
  for await (const { doc } of new Collection(store, sightings).all()) {
    const { seenAt, workerUrl } = doc;
    if (workerUrl !== undefined && now - seenAt <= GONE_AFTER_MS) heard.push({ seenAt, workerUrl });
  }
  return heard.toSorted((a, b) => b.seenAt - a.seenAt).map(({ workerUrl }) => workerUrl);
}

function demandAt(peers: readonly Peer[]): Map<string, LoadDemand> {
  const sum = new Map<string, LoadDemand>();
  for (const [endpoint, { waiting, inFlight, resume }] of peers.flatMap(({ loads }) => Object.entries(loads))) {
    const before = sum.get(endpoint) ?? { waiting: 0, inFlight: 0, resume: [] };
    sum.set(endpoint, {
      waiting: before.waiting + waiting,
      inFlight: before.inFlight + inFlight,
      resume: [...before.resume, ...resume],
    });
  }
  return sum;
}
