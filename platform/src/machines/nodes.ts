/** The records that nodes keep about themselves and the machines they run. */
import type { Load } from "../balancing/balanced-group.ts";
import type { Document, Kept } from "../kernel/document.ts";
import type { Box } from "../ports/compute/compute.ts";
import type { Spanning } from "../ports/compute/spans.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Away } from "./aways.ts";
import type { Runs } from "./need.ts";
import type { VolumeStorage } from "./place.ts";
import { GONE_AFTER_MS } from "./silences.ts";

export type KeptMachine = {
  /** The node that acts on what runs on this machine. */
  node: string;
  boxes: Box[];
  dataCenter: string;
  /** The machine counts for every data center of the catalog. Absent if it does not. */
  isEverywhere?: boolean;
  volumes?: VolumeStorage;
  groups?: boolean;
  spanning?: Spanning;
  /** Which images the machine runs. If absent, it runs any. */
  runs?: readonly Runs[];
  /** Which images the machine cannot run at the moment. If absent, it runs all that it can. */
  away?: Away;
};

/** A node's last report. It is separate from the machines, because it is written often and a machine may have thousands of devices. */
export type KeptNode = {
  seenAt: number;
  machines: readonly string[];
  /** The version of Millrace. Absent if a release before 0.1.0 wrote it. */
  version?: string;
  /** How far the node's clock is ahead of the database's. Absent if it is not known. */
  clockAheadMs?: number;
  /** The URL for other nodes. */
  url?: string;
  /** The URL for workers that people start themselves. */
  workerUrl?: string;
  /** When each of the node's workers was last active. */
  activeAt: Record<string, number>;
  /** What the node's balancer has, by endpoint. */
  loads?: Record<string, Load>;
};

/**
 * Earlier releases knew one machine with one box per node. The node writes its record again within seconds, and until then nothing is
 * placed there.
 */
const withoutBoxes = ({ capacity: _, url: __, ...doc }: Document): Document => ({
  ...doc,
  node: "",
  boxes: [],
  dataCenter: "",
});

export const machines: Kept<KeptMachine> = { kind: "machine", v: 2, upcasts: { 1: withoutBoxes } };
export const nodes: Kept<KeptNode> = { kind: "node", v: 1 };

/** Nodes and machines belong to the installation, not to an account. */
export const EVERYONE = "*";

/** Returns the worker URLs of nodes that are not gone by their own clocks, the latest first. For commands that are not a node. */
export async function workerUrlsOfNodes(store: Store, now: number): Promise<string[]> {
  const heard: { seenAt: number; workerUrl: string }[] = [];
  for await (const { doc } of new Collection(store, nodes).all()) {
    const { seenAt, workerUrl } = doc;
    if (workerUrl !== undefined && now - seenAt <= GONE_AFTER_MS) heard.push({ seenAt, workerUrl });
  }
  return heard.toSorted((a, b) => b.seenAt - a.seenAt).map(({ workerUrl }) => workerUrl);
}

/** Whether there is a record of this node. */
export async function isNodeKept(store: Store, id: string): Promise<boolean> {
  return (await new Collection(store, nodes).get(id)) !== undefined;
}

/** Removes what earlier releases kept about nodes under the ids of their machines. Nobody reads it any more. */
export async function removeOldSightings(store: Store): Promise<void> {
  const old = new Collection(store, { kind: "machine-seen", v: 1 });
  for await (const { id } of old.all()) await old.removeIfThere(id);
}
