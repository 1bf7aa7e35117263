/** The record of every instance of any kind: whom it runs for, its place on a machine, and since when it is metered. */
import type { Document, Kept } from "../kernel/document.ts";
import type { Moved } from "../kernel/lifecycle.ts";
import { type Reason, upcastReason } from "../kernel/reason.ts";
import type { WhatOf } from "../metering/meter.ts";
import type { Meterable, Phase, SpanKind } from "../metering/span.ts";
import type { Item } from "../ports/store/collection.ts";
import type { Place } from "./place.ts";

/** A place, or nulls while there is none. */
export type Placing = Omit<Place, "machine" | "box" | "dataCenter"> & {
  machine: string | null;
  box: string | null;
  dataCenter: string | null;
};

export const NOWHERE: Placing = {
  machine: null,
  box: null,
  dataCenter: null,
  vcpu: 0,
  memoryMb: 0,
  diskGb: 0,
  flavor: null,
  gpuType: null,
  gpuCount: 0,
};

export type KeptInstance = Placing &
  Meterable & {
    /** A state in the lifecycle of its kind. */
    state: Moved<string>;
    /** GPUs that the instance holds, by the names that its driver gave them. */
    devices?: readonly string[];
    /** Network volumes that the instance mounts. */
    volumes?: readonly string[];
    /** Models that it sees read-only: the volume of each, and the path. */
    models?: readonly { volume: string; path: string }[];
    /** Why the instance is in its state. */
    reason: Reason | null;
    /** The last period in which its machine was silent. Nothing is charged during that period. */
    unheard?: { since: number; until: number | null };
  };

export type InstanceItem<T extends KeptInstance = KeptInstance> = Item<T>;

/** In these states nothing of an instance is left on its machine. */
const GONE: readonly string[] = ["FAILED", "GONE", "EXITED"];

/** The key that names the owner of an instance that runs, will run or is about to end. */
export const LIVING = "living";

/** Whether an instance counts against how many its owner may have. A frozen one does not, since it cannot run before its thaw. */
export const isLiving = ({ state }: { state: string }): boolean => !GONE.includes(state) && state !== "FROZEN";

export const instances: Kept<KeptInstance> = {
  kind: "instance",
  v: 2,
  upcasts: { 1: withReasons },
  listed: ({ kind, owner, machine, state }) => ({
    ...{ kind, owner, machine: machine ?? undefined },
    [LIVING]: isLiving({ state }) ? owner : undefined,
  }),
  keysVersion: 2,
};

/** Older releases stored reasons as plain text, both for instances and for hindrances of workers. */
function withReasons(old: Document): Document {
  const { reason, hindrance } = old as { reason?: unknown; hindrance?: { reason?: unknown } | null };
  return {
    ...old,
    reason: upcastReason(reason),
    ...(hindrance && { hindrance: { ...hindrance, reason: upcastReason(hindrance.reason) } }),
  };
}

/** Returns what an instance uses of its machine while something of it is there. A frozen instance needs no CPU. */
export function placeOf({ doc }: InstanceItem): Place[] {
  const { machine, box, dataCenter, vcpu, memoryMb, diskGb, flavor, gpuType, gpuCount, state } = doc;
  if (machine === null || box === null || GONE.includes(state)) return [];
  const share = { vcpu: state === "FROZEN" ? 0 : vcpu, memoryMb, diskGb };
  return [{ machine, box, dataCenter: dataCenter ?? "", ...share, flavor, gpuType, gpuCount }];
}

/** Whether something of the instance may still have the volume mounted. */
export const mayMount = ({ doc }: InstanceItem, volume: string): boolean =>
  !GONE.includes(doc.state) &&
  (doc.volumes?.includes(volume) === true || doc.models?.some((model) => model.volume === volume) === true);

/** Whether the instance's program runs, is frozen, or neither. */
export function phaseOf({ state, startedAt }: KeptInstance): Phase | undefined {
  if (startedAt === null || GONE.includes(state)) return undefined;
  return state === "FROZEN" ? "frozen" : "running";
}

/** Whether the record says that the instance's machine is silent. */
export const isUnheard = ({ unheard }: KeptInstance): boolean => unheard?.until === null;

/** Returns what is charged for an instance, from the start of its program. */
export const payable: WhatOf<KeptInstance> = ({ id, doc }) => {
  const phase = phaseOf(doc);
  if (!phase || isUnheard(doc)) return undefined;
  const {
    cluster,
    createdBy = null,
    gpuType,
    gpuCount,
    flavor,
    vcpu,
    memoryMb,
    dataCenter,
    image,
    cloud,
    yields,
  } = doc;
  const diskGb = doc.containerGb ?? doc.diskGb;
  const has = { gpuType, gpuCount, flavor, vcpu, memoryMb, diskGb, ...(cloud && { cloud }), ...(yields && { yields }) };
  const kind: SpanKind = cluster === undefined ? doc.kind : "member";
  const whose = { instance: id, kind, owner: cluster ?? doc.owner, createdBy };
  const about = { ...whose, dataCenter, image, template: doc.template ?? null };
  return { ...about, ...has, phase, since: Math.max(doc.startedAt!, doc.unheard?.until ?? 0) };
};
