/** The instance of a Pod: what it has of a machine from the moment that there is room for it until nothing of it runs. */
import { lifecycle, type Moved } from "../../kernel/lifecycle.ts";
import type { KeptInstance } from "../../machines/instances.ts";
import type { Item } from "../../ports/store/collection.ts";

export type PodInstanceState = "PLACED" | "RUNNING" | "CRASHED" | "RESTARTING" | "ENDING";
export type PodInstanceMove = "keep" | "run" | "crash" | "revive" | "restart" | "clear" | "end";

export const podInstanceLifecycle = lifecycle<PodInstanceState, PodInstanceMove>({
  of: "instance of a Pod",
  states: {
    PLACED: "It is about to be booted on a fresh disk.",
    RUNNING: "Its program runs.",
    CRASHED: "Its program ended by itself, and is started again on the same disk when the Pod says so.",
    RESTARTING: "What runs of it is ended, and it is booted afresh.",
    ENDING: "It is ended, and leaves its place.",
  },
  begins: ["PLACED"],
  moves: {
    keep: { from: ["PLACED"], to: "PLACED" },
    run: { from: ["PLACED"], to: "RUNNING" },
    crash: { from: ["PLACED", "RUNNING"], to: "CRASHED" },
    revive: { from: ["CRASHED"], to: "RUNNING" },
    restart: { from: ["PLACED", "RUNNING", "CRASHED", "RESTARTING"], to: "RESTARTING" },
    clear: { from: ["RESTARTING", "CRASHED"], to: "PLACED" },
    end: { from: ["PLACED", "RUNNING", "CRASHED", "RESTARTING", "ENDING"], to: "ENDING" },
  },
});

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
