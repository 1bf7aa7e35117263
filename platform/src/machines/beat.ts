/** The beat of a node: every few seconds it checks its machines and reports that it and they are alive. */
import type { Load } from "../balancing/balanced-group.ts";
import type { Clock } from "../kernel/clock.ts";
import type { DutyNotes, Failed } from "../kernel/failed.ts";
import { OneAtATime } from "../kernel/one-at-a-time.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { InstanceRecords } from "./instance-records.ts";
import type { Machines, NodeIdentity } from "./machines.ts";
import { EVERYONE, type KeptNode, nodes } from "./nodes.ts";
import type { OwnMachine } from "./own-machine.ts";

const BEAT_MS = 5000;
const BEING_ONE = "be the only server of this node";

export interface BeatParts {
  store: Store;
  clock: Clock;
  node: NodeIdentity;
  own: readonly Pick<OwnMachine, "id">[];
  machines: Pick<Machines, "look">;
  instanceRecords: InstanceRecords;
  /** This process is the only node, so there is nobody to report to. */
  alone: boolean;
  /** When workers of this node were last active. */
  activity: () => Promise<Record<string, number>>;
  /** What this node's balancer has, by endpoint. */
  loads: () => Record<string, Load>;
  /** How far this node's clock is ahead of the database's, or undefined if that is not known. */
  clockAheadMs?: () => number | undefined;
  failed: Failed;
}

/** Says what to do about another server that reports as this node. */
export const twinText = (id: string, url: string): string =>
  `the server at ${url} has this server's node id ${id}, as after a copy of the data folder, and each would end the other's programs: ` +
  "stop one of them, remove the files node-id and machine-id from its data folder, and start it again";

export class Beat {
  readonly #parts: BeatParts;
  readonly #nodes: Collection<KeptNode>;
  #saidAt = Number.NEGATIVE_INFINITY;
  #saidLoads = "";
  #saidUrl: string | undefined;
  readonly #notes: DutyNotes | undefined;
  #isLeaving = false;
  /** Reports are written one after the other, because the store would refuse one of two concurrent writes. */
  readonly #saying = new OneAtATime();

  constructor(parts: BeatParts) {
    this.#parts = parts;
    this.#nodes = new Collection(parts.store, nodes);
    if (!parts.alone) this.#notes = parts.failed.roll?.enter({ name: BEING_ONE, everyMs: BEAT_MS });
  }

  /** Changes that concern other nodes are reported without waiting for the next beat. */
  async beat(now: number): Promise<void> {
    if (this.#parts.clock.monotonic() - this.#saidAt < BEAT_MS) await this.tell(now);
    else await this.#saying.run(() => this.#beat(now));
  }

  /** Reports what this node's balancer has unless that is already known. Resolves to true if it was news. */
  tell(now: number): Promise<boolean> {
    return this.#saying.run(async () => {
      if (this.#parts.alone || JSON.stringify(this.#loads()) === this.#saidLoads) return false;
      await this.#say(now);
      return true;
    });
  }

  /** A node that shuts down first reports an empty balancer, so that it gets no more requests. */
  leave(now: number): Promise<boolean> {
    this.#isLeaving = true;
    this.#notes?.[Symbol.dispose]();
    return this.tell(now);
  }

  #loads(): Record<string, Load> {
    return this.#isLeaving ? {} : this.#parts.loads();
  }

  async #beat(now: number): Promise<void> {
    const { alone, clock, machines } = this.#parts;
    await machines.look(now);
    if (!alone || (await this.#isMetered())) await this.#say(now);
    this.#saidAt = clock.monotonic();
  }

  /** If metered instances run here, the time of the last beat must be on record, because it proves how long they ran. */
  async #isMetered(): Promise<boolean> {
    const { instanceRecords, own } = this.#parts;
    const isHere = (machine: string | null) => own.some(({ id }) => id === machine);
    return (await instanceRecords.all()).some(({ doc }) => doc.span && isHere(doc.machine));
  }

  async #say(now: number): Promise<void> {
    const { activity, node, own, alone } = this.#parts;
    const aheadMs = this.#parts.clockAheadMs?.();
    if (!alone) await this.#lookForTwin();
    const said = {
      seenAt: now,
      ...(aheadMs !== undefined && { clockAheadMs: Math.round(aheadMs) }),
      machines: own.map(({ id }) => id),
      url: node.url(),
      workerUrl: node.workerUrl(),
      ...(node.version !== undefined && { version: node.version }),
      // Only other nodes read it.
      activeAt: alone ? {} : await activity(),
      loads: this.#loads(),
    };
    await this.#nodes.put({ id: node.id, account: EVERYONE, createdAt: now, doc: said }, ["clockAheadMs", "version"]);
    this.#saidLoads = JSON.stringify(said.loads);
    this.#saidUrl = said.url;
  }

  /** Two servers with one node id would end each other's instances. One that starts beside another is refused, unless both start at once. */
  async #lookForTwin(): Promise<void> {
    const { node, failed } = this.#parts;
    this.#notes?.began();
    const url = (await this.#nodes.get(node.id))?.doc.url;
    if (this.#saidUrl === undefined || url === undefined || url === this.#saidUrl) return this.#notes?.went();
    const error = new Error(twinText(node.id, url));
    if (this.#notes) this.#notes.failed(error);
    else failed(error, BEING_ONE);
  }
}
