/** The instance of a Pod: what it has of a machine from the moment that there is room for it until nothing of it runs. */
import type { Moved } from "../../kernel/lifecycle.ts";
import type { KeptInstance } from "../../machines/instances.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { PodInstanceState } from "./lifecycle.ts";

export type KeptPodInstance = KeptInstance & {
  kind: "pod";
  state: Moved<PodInstanceState>;
  /** Of the key with which it asks about itself. */
  keyId: string | null;
  /** How often it was booted on a fresh disk: each boot writes its output anew. */
  boots: number;
  /** When its program was last started, be it again. */
  bootedAt: number | null;
  /** How long its program may take to end itself. */
  graceMs?: number;
};

export type PodInstance = Item<KeptPodInstance>;

export const isPodInstance = (item: Item<KeptInstance>): item is PodInstance => item.doc.kind === "pod";
