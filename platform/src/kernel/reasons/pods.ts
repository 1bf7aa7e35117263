/** Reasons of a Pod's status. */
import { type Entry, worded } from "./entry.ts";

const NOTHING = "Nothing.";
const START_AGAIN = "Start the Pod to run it again.";

/** An entry whose sentence is always the same. */
const fixed = (sentence: string, means: string, remedy: string) => worded({ means, remedy, text: () => sentence });

export const podReasons = {
  "about-to-start": fixed("about to be started", "The Pod has a place, or Millrace is looking for one.", "Wait."),
  "program-starting": fixed("its program is being started", "The program of the Pod is being started.", "Wait."),
  "restarts-for-change": worded<{ fields: string }>({
    means: "A changed field needs a restart.",
    remedy: "Wait.",
    text: ({ fields }) => `restarts: ${fields} changed`,
  }),
  "restart-asked": fixed("restarts: its owner asked for it", "The owner is restarting the Pod.", "Wait."),
  "stopped-by-owner": fixed("stopped by its owner", "The owner stopped the Pod.", START_AGAIN),
  "terminated-by-owner": fixed("terminated by its owner", "The owner deleted the Pod.", NOTHING),
  "cluster-deleted": fixed("its cluster was deleted", "The cluster of the Pod was deleted.", NOTHING),
  "account-deleted": fixed("its account was deleted", "The account of the Pod was deleted.", NOTHING),
  "time-over": fixed("it reached its terminateAfter", "The Pod reached its `terminateAfter`.", "Make a new Pod."),
  "stop-time-reached": fixed("it reached its stopAfter", "The Pod reached its `stopAfter`.", START_AGAIN),
  "idle-stopped": worded<{ seconds: number }>({
    means: "Nothing used the Pod for its `idleTimeout`.",
    remedy: `${START_AGAIN} Raise \`idleTimeout\` to keep it longer.`,
    text: ({ seconds }) => `stopped: no use of CPU, GPU, HTTP ports or terminals for ${seconds} s`,
  }),
  interrupted: worded<{ whom: string }>({
    means: "The interruptible Pod gave its place to something else.",
    remedy: `${START_AGAIN} A Pod that is not interruptible keeps its place.`,
    text: ({ whom }) => `interrupted: gave its place to '${whom}'`,
  }),
  "still-ending": fixed(
    "its previous program is still ending",
    "The Pod starts as soon as its previous program has ended.",
    "Wait.",
  ),
  "volume-gone": worded<{ volume: string }>({
    means: "The network volume of the Pod was deleted.",
    remedy: "Make a new Pod with another volume.",
    text: ({ volume }) => `its network volume ${volume} no longer exists`,
  }),
  "nothing-runs-pods": fixed(
    "no machine here runs Pods",
    "No machine of the installation runs Pods.",
    "Ask the operator.",
  ),
  "changed-meanwhile": fixed(
    "another request started or ended it at the same moment",
    "Another request changed the Pod at the same time.",
    "Read its status, and try again.",
  ),
  "pod-ended": worded<{ how: string }>({
    means: "The program of the Pod ended by itself, with exit code 0.",
    remedy: START_AGAIN,
    text: ({ how }) => `its program ended by itself (${how})`,
  }),
  "machine-was-away": fixed(
    "its machine was away, or something else ended its program; it is starting again",
    "The machine restarted, or someone other than Millrace ended the program.",
    "Wait: it is started again.",
  ),
  unwanted: fixed("it is no longer needed", "The instance is no longer needed.", NOTHING),
} as const satisfies Record<string, Entry>;
