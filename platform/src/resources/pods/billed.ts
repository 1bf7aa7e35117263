/** What is paid for a Pod in addition to its instances: its disks, from its creation to its deletion. */
import type { WhatOf } from "../../metering/meter.ts";
import type { Payable } from "../../metering/span.ts";
import type { KeptPod } from "./model.ts";

/** Members of a cluster are billed to the cluster. */
export function billedTo(id: string, { cluster }: { cluster?: { id: string } | undefined }) {
  return cluster ? ({ kind: "member", owner: cluster.id } as const) : ({ kind: "pod", owner: id } as const);
}

/** The bid of an interruptible Pod. A Pod that bids nothing pays the spot price. */
export const yieldsOf = ({ interruptible, bidPerGpu }: Pick<KeptPod, "interruptible" | "bidPerGpu">) =>
  interruptible ? { yields: { bid: bidPerGpu ?? 0 } } : {};

const NO_PROGRAM = { gpuType: null, gpuCount: 0, flavor: null, vcpu: 0, memoryMb: 0 } as const;

/** Storage is `used` while the Pod has a place on a machine, even before it starts, and `kept` while it has none. */
export const podStorage: WhatOf<KeptPod> = ({ id, doc }): Payable => ({
  instance: id,
  ...billedTo(id, doc),
  createdBy: doc.createdBy ?? null,
  phase: doc.instance === null ? "kept" : "used",
  ...NO_PROGRAM,
  cloud: doc.cloud,
  diskGb: doc.disk,
  persistentGb: doc.mounts.persistent?.size ?? 0,
  dataCenter: doc.last?.dataCenter ?? null,
  image: doc.image,
  template: doc.template,
});
