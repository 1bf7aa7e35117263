/** Places instances of any kind, either all that are requested together or none, on what is free at the moment of the commit. */

import type { Write } from "../ports/store/store.ts";
import type { InstanceRecords, NewInstance } from "./instance-records.ts";
import { type InstanceItem, type KeptInstance, placeOf } from "./instances.ts";
import type { Need } from "./need.ts";
import type { Machine, NoRoom, Place } from "./place.ts";
import { Room } from "./room.ts";

/** An instance that is created once it has a place. */
export interface Wish<T extends KeptInstance> {
  need: Need;
  instance: (place: Place) => NewInstance<T>;
}

export interface AllocatorParts {
  records: InstanceRecords;
  /** The machines that are available now. */
  machines: () => Promise<readonly Machine[]>;
}

/** Fewer callers than this compete for room at the same moment, so one of these tries succeeds or finds no room. */
const MOST_TRIES = 1000;

/**
 * Decides whether the instances may be placed at all, given the existing ones. It is asked again at every try, and once more about the
 * places that were found.
 */
export type Judge = (instances: readonly InstanceItem[], places?: readonly Place[]) => Promise<NoRoom | undefined>;

type Also = (places: readonly Place[]) => Promise<readonly Write[] | undefined>;

export class Allocator {
  readonly #parts: AllocatorParts;

  constructor(parts: AllocatorParts) {
    this.#parts = parts;
  }

  /** Places all on one machine, or else on several that can share a network. */
  allocateTogether: Allocator["allocate"] = (wishes, also, judge) =>
    this.#allocate(wishes, (room, needs) => room.takeTogether(needs), also, judge);

  /**
   * The writes of `also` are part of the commit. They are asked for at every try, because the last ones may be out of date. If `also`
   * returns undefined, nothing is placed.
   */
  async allocate<T extends KeptInstance>(
    wishes: readonly Wish<T>[],
    also?: Also,
    judge?: Judge,
  ): Promise<InstanceItem<T>[] | NoRoom> {
    return this.#allocate(wishes, (room, needs) => room.takeAll(needs), also, judge);
  }

  async #allocate<T extends KeptInstance>(
    wishes: readonly Wish<T>[],
    take: (room: Room, needs: Need[]) => Place[] | NoRoom,
    also: Also = async () => [],
    judge: Judge = async () => undefined,
  ): Promise<InstanceItem<T>[] | NoRoom> {
    const { records, machines } = this.#parts;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const counted = await records.counted();
      const refusal = await judge(counted.instances);
      if (refusal) return refusal;
      const room = new Room(await machines(), counted.instances.flatMap(placeOf));
      const places = take(
        room,
        wishes.map(({ need }) => need),
      );
      if ("reason" in places) return places;
      const beyond = await judge(counted.instances, places);
      if (beyond) return beyond;
      const writes = await also(places);
      if (!writes) return [];
      const placed = await records.insert(
        wishes.map(({ instance }, i) => instance(places[i]!)),
        counted,
        writes,
      );
      if (placed) return placed;
    }
    throw new Error("room was taken by others at every attempt");
  }
}
