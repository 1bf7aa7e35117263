/** The lifecycles of a Pod and of its instance, as tables. */
import { lifecycle } from "../../kernel/lifecycle.ts";

export const podStatuses = ["PROVISIONING", "STARTING", "RUNNING", "EXITED", "ERROR", "TERMINATED"] as const;
export type PodStatus = (typeof podStatuses)[number];

/** The actions of callers on a Pod. */
export const podActions = ["start", "stop", "restart", "terminate"] as const;
export type PodAction = (typeof podActions)[number];

/** Moves that nobody asks for, or that are part of an action. */
type PodEvent =
  | "place"
  | "startNow"
  | "rest"
  | "boot"
  | "run"
  | "change"
  | "unplace"
  | "crash"
  | "end"
  | "fail"
  | "yield";
export type PodMove = PodAction | PodEvent;

const LIVING = ["PROVISIONING", "STARTING", "RUNNING"] as const;

export const podLifecycle = lifecycle<PodStatus, PodMove>({
  of: "Pod",
  states: {
    PROVISIONING: "It waits for room, or its image is being pulled.",
    STARTING: "Its program is about to run, for the first time or again after a failure.",
    RUNNING: "Its program runs.",
    EXITED: "It was stopped, gave way, or its program ended with 0.",
    ERROR: "It cannot run: the image cannot be pulled, a secret is missing, or it failed too often.",
    TERMINATED: "Nothing of it is left.",
  },
  begins: ["PROVISIONING"],
  moves: {
    place: { from: ["PROVISIONING"], to: "STARTING" },
    // On the older surfaces a Pod starts at once or not at all, and never waits for room.
    startNow: { from: ["EXITED", "ERROR"], to: "STARTING" },
    // The older surfaces know no ERROR, so there a Pod that cannot run can be stopped.
    rest: { from: ["ERROR"], to: "EXITED" },
    boot: { from: ["PROVISIONING", "STARTING"], to: "STARTING" },
    run: { from: ["PROVISIONING", "STARTING"], to: "RUNNING" },
    // A field that needs a boot was changed.
    change: { from: LIVING, to: "STARTING" },
    unplace: { from: LIVING, to: "PROVISIONING" },
    crash: { from: LIVING, to: "STARTING" },
    end: { from: LIVING, to: "EXITED" },
    fail: { from: LIVING, to: "ERROR" },
    yield: { from: LIVING, to: "EXITED" },
    start: { from: ["EXITED", "ERROR"], to: "PROVISIONING", asked: "pods:write" },
    stop: { from: LIVING, to: "EXITED", asked: "pods:write" },
    restart: { from: ["RUNNING"], to: "STARTING", asked: "pods:write" },
    terminate: { from: [...LIVING, "EXITED", "ERROR"], to: "TERMINATED", asked: "pods:write" },
  },
  revivals: ["start", "startNow", "rest", "terminate"],
});

/** What can be done with a Pod now. A member of a cluster allows no actions of its own, and a locked Pod cannot be stopped. */
export function podActionsOf({
  status,
  locked,
  cluster,
}: {
  status: PodStatus;
  locked: boolean;
  cluster?: unknown;
}): PodAction[] {
  if (cluster) return [];
  return podActions.filter((action) => podLifecycle.can(status, action) && !(locked && action === "stop"));
}

export type PodInstanceState = "PLACED" | "RUNNING" | "CRASHED" | "RESTARTING" | "ENDING" | "GONE";
export type PodInstanceMove = "keep" | "run" | "crash" | "revive" | "restart" | "clear" | "end" | "leave";

export const podInstanceLifecycle = lifecycle<PodInstanceState, PodInstanceMove>({
  of: "instance of a Pod",
  states: {
    PLACED: "It is about to boot on a new disk.",
    RUNNING: "Its program runs.",
    CRASHED: "Its program ended by itself. It is started again on the same disk when the Pod says so.",
    RESTARTING: "Its program is being ended, and then it boots again on a new disk.",
    ENDING: "It is being ended and leaves its place.",
    GONE: "Nothing of it is left.",
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
    // The Pod may have another instance by then, or be gone, whatever state this one was left in.
    leave: { from: ["PLACED", "RUNNING", "CRASHED", "RESTARTING", "ENDING"], to: "GONE" },
  },
});
