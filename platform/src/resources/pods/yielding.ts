/** Makes interruptible Pods give way when others need their place. */
import { gpuPrice } from "../../catalog/compute.ts";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { because, type Reason } from "../../kernel/reason.ts";
import { placeOf } from "../../machines/instances.ts";
import type { Need } from "../../machines/need.ts";
import type { Machine, Place } from "../../machines/place.ts";
import { Room } from "../../machines/room.ts";
import type { PodInstance } from "./instance.ts";
import type { PodRecords } from "./records.ts";

export interface YieldingParts {
  podRecords: PodRecords;
  /** Ends a Pod without its owner's request. */
  stop: (pod: string, reason: Reason, graceMs: number) => Promise<unknown>;
  clock: Clock;
  machines: () => Promise<readonly Machine[]>;
}

/** A program that does not end by itself is killed after this time. */
const GRACE_MS = 5000;
/** How long to wait for their end, and how often to look. */
const PATIENCE_MS = 15_000;
const LOOK_MS = 200;

export class Yielding {
  readonly #parts: YieldingParts;

  constructor(parts: YieldingParts) {
    this.#parts = parts;
  }

  /** Ends as few Pods as necessary to make room, and returns them. Ends none if ending all of them would not be enough. */
  async makeRoom(need: Need, whom: string): Promise<string[]> {
    const leaving = await this.#choose(need);
    for (const { doc } of leaving) await this.#parts.stop(doc.owner, because("interrupted", { whom }), GRACE_MS);
    return leaving.map(({ id }) => id);
  }

  /** Resolves when these instances have left their places, or when that takes too long. */
  async gone(instances: readonly string[]): Promise<void> {
    const { podRecords, clock } = this.#parts;
    const untilMs = clock.monotonic() + PATIENCE_MS;
    const areThere = async () => (await podRecords.allInstances()).some(({ id }) => instances.includes(id));
    while ((await areThere()) && clock.monotonic() < untilMs) await sleep(clock, LOOK_MS);
  }

  async #choose(need: Need): Promise<readonly PodInstance[]> {
    const { podRecords, machines } = this.#parts;
    const all = await podRecords.instances.all();
    const room = new Room(await machines(), all.flatMap(placeOf));
    const yielding = (await podRecords.allInstances()).filter(({ doc }) => doc.yields && doc.state !== "ENDING");
    const groups = [...Map.groupBy(yielding, ({ doc }) => `${doc.machine} ${doc.box}`).values()];
    const choices = groups.flatMap((group) => fewest(group.toSorted(byBid), room, need));
    return choices.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
}

/** The Pods of one box that bid least, just enough to make room. Empty if all of them would not be enough. */
function fewest(group: readonly PodInstance[], room: Room, need: Need): (readonly PodInstance[])[] {
  for (let count = 1; count <= group.length; count++) {
    const leaving = group.slice(0, count);
    const places: Place[] = leaving.flatMap(placeOf);
    if (room.placeWithout(places, need)) return [leaving];
  }
  return [];
}

/** The Pod that pays least per GPU gives way first. If several pay the same, the newest does. */
const byBid = (a: PodInstance, b: PodInstance) => paidBy(a) - paidBy(b) || b.createdAt - a.createdAt;

const paidBy = ({ doc: { yields, gpuType, cloud } }: PodInstance): number =>
  yields?.bid || (gpuType === null ? 0 : gpuPrice.spot(gpuType, cloud));
