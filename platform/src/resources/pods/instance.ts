/** The instance of a Pod: its share of a machine, from the moment it gets a place until nothing of it runs. */
import type { Moved } from "../../kernel/lifecycle.ts";
import type { KeptInstance } from "../../machines/instances.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { PodInstanceState } from "./lifecycle.ts";

export type KeptPodInstance = KeptInstance & {
  kind: "pod";
  state: Moved<PodInstanceState>;
  /** The id of the key with which the Pod asks about itself. */
  keyId: string | null;
  /** How often it was booted on a fresh disk. Each of these boots begins its output anew. */
  boots: number;
  /** When its program was last started, including restarts. */
  bootedAt: number | null;
  /** How long its program may take to end by itself. */
  graceMs?: number;
};

export type PodInstance = Item<KeptPodInstance>;

export const isPodInstance = (item: Item<KeptInstance>): item is PodInstance => item.doc.kind === "pod";
