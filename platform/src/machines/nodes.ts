/** What nodes keep on record of themselves and of the machines that they run. */
import type { Load } from "../balancing/balanced-group.ts";
import type { Document, Kept } from "../kernel/document.ts";
import type { Box } from "../ports/compute/compute.ts";
import { Collection } from "../ports/store/collection.ts";
import type { Store } from "../ports/store/store.ts";
import type { Runs } from "./need.ts";
import type { VolumeStorage } from "./place.ts";
import { GONE_AFTER_MS } from "./silences.ts";

export type KeptMachine = {
  /** The node that acts on what runs there. */
  node: string;
  boxes: Box[];
  dataCenter: string;
  /** It stands in every data center of the catalog; absent where it does not. */
  isEverywhere?: boolean;
  volumes?: VolumeStorage;
  groups?: boolean;
  /** What images it runs; absent for any. */
  runs?: readonly Runs[];
};

/** What a node last said. Apart from its machines, since it is written often and a machine may have thousands of devices. */
export type KeptNode = {
  seenAt: number;
  /** Machines that it runs. */
  machines: readonly string[];
  /** Of the program; absent where a release before 0.1.0 wrote it. */
  version?: string;
  /** Where other nodes reach it. */
  url?: string;
  /** Where workers that people start reach it. */
  workerUrl?: string;
  /** When its workers were last active. */
  activeAt: Record<string, number>;
  /** What its balancer has, by endpoint. */
  loads?: Record<string, Load>;
};

/** Earlier releases knew one machine of each node, of one box. It is written anew within seconds; until then nothing is placed there. */
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

/** Where workers reach the nodes that were heard of lately by their own clocks, the latest first; for a command that is no node. */
export async function workerUrlsOfNodes(store: Store, now: number): Promise<string[]> {
  const heard: { seenAt: number; workerUrl: string }[] = [];
  for await (const { doc } of new Collection(store, nodes).all()) {
    const { seenAt, workerUrl } = doc;
    if (workerUrl !== undefined && now - seenAt <= GONE_AFTER_MS) heard.push({ seenAt, workerUrl });
  }
  return heard.toSorted((a, b) => b.seenAt - a.seenAt).map(({ workerUrl }) => workerUrl);
}

/** What earlier releases kept of nodes, by the ids of their machines; nobody reads it any more. */
export async function removeOldSightings(store: Store): Promise<void> {
  const old = new Collection(store, { kind: "machine-seen", v: 1 });
  for await (const { id } of old.all()) await old.removeIfThere(id);
}
