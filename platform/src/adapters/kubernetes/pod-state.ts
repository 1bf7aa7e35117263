/** Reads a Pod as an instance: its state, and why it waits, was refused or ended. */
import { parseTimestamp } from "../../kernel/clock.ts";
import type { StartCode } from "../../kernel/reasons/starts.ts";
import { type Exit, type Instance, type InstanceKind, PlaceGone, StartRefused } from "../../ports/compute/compute.ts";
import { ImageDenied } from "../../ports/compute/images.ts";
import type { Published } from "../../ports/compute/publish.ts";
import { statusOf } from "../machine/exit-status.ts";
import { type Condition, type ContainerStatus, label, MAIN, note, type Pod } from "./kube-objects.ts";

/** What else is known about a Pod. */
export interface Around {
  /** The last warning that Kubernetes gave about it. */
  warning?: { reason: string; message: string } | undefined;
  /** Its node exists and answers. */
  isNodeThere: boolean;
  now: number;
}

/** A Pod that was given one node and does not fit there is refused after this long, so that it is placed elsewhere. */
export const NO_ROOM_MS = 20_000;
const DENIED_MS = 20_000;
/** Kubernetes cannot pull the image for this long, for reasons that may pass. */
const PULL_MS = 600_000;

/** The reason of the event when a node evicts a Pod. */
export const EVICTED = "Evicted";

const HERE: Around = { isNodeThere: true, now: 0 };

export function instanceOf(pod: Pod, around: Around = HERE): Instance {
  const about = aboutOf(pod);
  const refusal = refusalOf(pod, around);
  if (refusal) return { ...about, state: "refused", startedAt: madeAt(pod), refusal };
  const main = mainOf(pod);
  const exit = exitOf(pod, main, around);
  const startedAt = startOf(pod, main);
  const devices = devicesOf(pod);
  if (exit)
    return { ...about, state: "exited", startedAt, ...devices, exit: { ...exit, at: Math.max(exit.at, startedAt) } };
  if (!main?.state.running) {
    const waitsFor = waitOf(pod, main, around);
    return { ...about, state: "pending", startedAt: madeAt(pod), ...(waitsFor !== undefined && { waitsFor }) };
  }
  const { podIP } = pod.status!;
  const published = publishedOf(pod);
  return {
    ...about,
    state: "running",
    startedAt,
    ...devices,
    ...(podIP && pod.metadata.labels?.[label.group] && { address: podIP }),
    ...(published.length > 0 && { published }),
  };
}

function aboutOf({ metadata: { labels = {}, annotations = {} } }: Pod) {
  return {
    id: labels[label.instance]!,
    kind: labels[label.kind] as InstanceKind,
    owner: annotations[note.owner] ?? "",
  };
}

export const mainOf = ({ status }: Pod): ContainerStatus | undefined =>
  status?.containerStatuses?.find(({ name }) => name === MAIN);

export const noteOf = ({ metadata }: Pod, name: keyof typeof note): string | undefined =>
  metadata.annotations?.[note[name]];

export const publishedOf = (pod: Pod): Published[] => JSON.parse(noteOf(pod, "published") ?? "[]") as Published[];

export const listOf = (pod: Pod, name: "ports" | "volumes" | "groupFullNames"): string[] =>
  (noteOf(pod, name) || undefined)?.split(",") ?? [];

/** Kubernetes tells nobody which devices a Pod has. These names are unique all the same. */
function devicesOf(pod: Pod): Pick<Instance, "devices"> {
  const count = Number(noteOf(pod, "gpu")?.split("x ")[0] ?? 0);
  const uid = pod.metadata.uid ?? "";
  return count > 0 ? { devices: Array.from({ length: count }, (_, n) => `${uid}/${n}`) } : {};
}

const instant = (text: string | null | undefined) => (text ? parseTimestamp(text) : undefined);

const madeAt = ({ metadata }: Pod) => instant(metadata.creationTimestamp) ?? 0;

function startOf(pod: Pod, main: ContainerStatus | undefined): number {
  const { running, terminated } = main?.state ?? {};
  return instant(running?.startedAt) ?? instant(terminated?.startedAt) ?? madeAt(pod);
}

/** Whether the program of this Pod has ever run. */
const hasBegun = (main: ContainerStatus | undefined) =>
  main?.state.running !== undefined ||
  (main?.state.terminated !== undefined && main.state.terminated.reason !== "StartError");

function refusalOf(pod: Pod, around: Around): StartRefused | undefined {
  const written = noteOf(pod, "refused");
  if (written !== undefined) return fromText(written);
  const main = mainOf(pod);
  if (hasBegun(main)) return undefined;
  const { terminated, waiting } = main?.state ?? {};
  if (terminated?.reason === "StartError")
    return new StartRefused(terminated.message ?? "its program cannot be run", { reason: "engine-refused" });
  if (terminated || pod.metadata.deletionTimestamp !== undefined)
    return new PlaceGone(`it was ended before it began: ${disruptionOf(pod) ?? "its Kubernetes Pod was deleted"}`);
  const { phase, reason, message } = pod.status ?? {};
  if (phase === "Failed") return new PlaceGone(`its node refuses it: ${[reason, message].filter(Boolean).join(": ")}`);
  return (waiting && waitingRefusal(pod, waiting, around)) ?? noRoom(pod, around);
}

const IMAGE_ERRORS = ["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed"];
const DENIED =
  /unauthorized|(?<!permission )denied|forbidden|authentication required|no basic auth|insufficient.scope|401|403/i;
const MISSING = /not found|manifest unknown|name unknown|does not exist|NotFound/i;

function waitingRefusal(
  pod: Pod,
  { reason = "", message = "" }: { reason?: string; message?: string },
  { warning, now }: Around,
) {
  // Kubernetes 1.31 and older repeat the cause of a failed pull only in an event.
  const said =
    message.length > 0 && !/^Back-off pulling image "[^"]*"$/.test(message) ? message : (warning?.message ?? message);
  if (reason === "ErrImageNeverPull")
    return new StartRefused(`the image is on no node that may run it: ${said}`, { reason: "image-not-found" });
  if (reason === "InvalidImageName") return new StartRefused(said || reason, { reason: "image-invalid" });
  if (reason === "ErrImagePull" || reason === "ImagePullBackOff") {
    // The server has asked the registry before. The node may not have read the login yet, and tries again after ten seconds.
    if (DENIED.test(said))
      return now - madeAt(pod) < DENIED_MS ? undefined : new ImageDenied(`cannot pull the image: ${said}`);
    if (MISSING.test(said)) return new StartRefused(`cannot pull the image: ${said}`, { reason: "image-not-found" });
    if (now - madeAt(pod) > PULL_MS)
      return new StartRefused(`cannot pull the image: ${said}`, { reason: "pull-failed" });
  }
  // Other errors of this kind pass: the node has not yet read the Secret, for example.
  const isForGood =
    reason === "CreateContainerConfigError" && /run as (non-)?root|runAsNonRoot|non-numeric user/.test(said);
  if (reason === "CreateContainerError" || reason === "RunContainerError" || isForGood)
    return new StartRefused(`the node cannot make its container: ${said || reason}`, { reason: "engine-refused" });
  return undefined;
}

const unscheduled = ({ status }: Pod): Condition | undefined =>
  status?.conditions?.find(({ type, status: value }) => type === "PodScheduled" && value === "False");

function noRoom(pod: Pod, { now }: Around): PlaceGone | undefined {
  const condition = unscheduled(pod);
  const box = noteOf(pod, "box");
  if (!condition || box === undefined || now - madeAt(pod) < NO_ROOM_MS) return undefined;
  return new PlaceGone(`node ${box} has no room for it any more: ${condition.message ?? condition.reason ?? ""}`);
}

/** In words, what a Pod that has not begun waits for. */
function waitOf(pod: Pod, main: ContainerStatus | undefined, { warning }: Around): string | undefined {
  const condition = unscheduled(pod);
  if (condition) return `no node has room for it: ${condition.message ?? condition.reason ?? "it is not scheduled"}`;
  const { reason, message } = main?.state.waiting ?? {};
  if (reason !== undefined && IMAGE_ERRORS.includes(reason))
    return `the image cannot be pulled now: ${message ?? reason}`;
  if (warning) return `${warning.reason}: ${warning.message}`;
  return pod.spec.nodeName === undefined
    ? undefined
    : `node ${pod.spec.nodeName} fetches its image and makes its container`;
}

/** In words, what ended a Pod from outside: an eviction, a more important Pod, a lost node. */
function disruptionOf({ status }: Pod): string | undefined {
  const condition = status?.conditions?.find(
    ({ type, status: value }) => type === "DisruptionTarget" && value === "True",
  );
  const cause = condition && (DISRUPTIONS[condition.reason ?? ""] ?? "Kubernetes ended it");
  if (cause) return condition.message ? `${cause} (${condition.message})` : cause;
  if (status?.reason === "Evicted") return `its node evicted it (${status.message ?? "no reason was given"})`;
  if (status?.reason === "Terminated" || status?.reason === "NodeShutdown") return `its node was shut down`;
  if (status?.reason === "Preempting") return DISRUPTIONS.PreemptionByScheduler;
  return undefined;
}

const DISRUPTIONS: Record<string, string> = {
  PreemptionByScheduler: "a more important Pod took its place",
  DeletionByTaintManager: "its node was lost or is no longer allowed to run it",
  EvictionByEvictionAPI: "its node is being drained",
  DeletionByPodGC: "its node is gone",
  TerminationByKubelet: "its node evicted it",
};

/** Its own doing, unlike an eviction because others used up the node. */
const OWN_DISK = /ephemeral.*(exceed|limit)|exceed.*ephemeral|usage exceeds/i;

function exitOf(pod: Pod, main: ContainerStatus | undefined, { isNodeThere, now, warning }: Around): Exit | undefined {
  const { metadata, status } = pod;
  const terminated = main?.state.terminated;
  // The status of a program that ended with 0 when its node evicted it has no reason. An event has it.
  const evicted =
    status?.reason === "Evicted" ? status.message : warning?.reason === EVICTED ? warning.message : undefined;
  const outside = disruptionOf(pod) ?? (evicted === undefined ? undefined : `its node evicted it (${evicted})`);
  if (!terminated) {
    // Nothing confirms that the program has ended, but Kubernetes has given the Pod up, and its node does not answer.
    const isLost = metadata.deletionTimestamp !== undefined && !isNodeThere;
    if (!isLost || !main?.state.running) return undefined;
    return {
      code: null,
      at: instant(metadata.deletionTimestamp) ?? now,
      isLost: true,
      reason: outside ?? "its node does not answer",
    };
  }
  const at = instant(terminated.finishedAt) ?? instant(metadata.deletionTimestamp) ?? madeAt(pod);
  const ended = { ...statusOf(terminated.exitCode), at };
  if (terminated.reason === "OOMKilled")
    return { ...ended, reason: `out of memory: may use ${noteOf(pod, "memoryMb")} MB`, cause: "out-of-memory" };
  if (OWN_DISK.test(evicted ?? ""))
    return {
      ...ended,
      reason: `it wrote more than its disk holds: ${evicted}`,
      cause: "filled-disk",
      isFinal: true,
    };
  if (outside) return { ...ended, reason: outside, isLost: true };
  if (terminated.reason === "ContainerStatusUnknown")
    return { code: null, at, isLost: true, reason: "its node does not know how it ended" };
  if (metadata.deletionTimestamp !== undefined && noteOf(pod, "stopping") === undefined)
    return { ...ended, reason: "its Kubernetes Pod was deleted by someone else", cause: "ended-outside" };
  // The message of a program that ran is its own, from a file that it may write, so it is no reason.
  return ended;
}

/** A refusal as it is written to the Pod, so that the next process knows it too. */
export function toText(refusal: StartRefused): string {
  const kind = refusal instanceof PlaceGone ? "gone" : "no";
  return `${kind} ${refusal.reason} ${refusal.message}`;
}

function fromText(text: string): StartRefused {
  const [, kind, code, message] = /^(\S+) (\S+) ([\s\S]*)$/.exec(text) ?? [];
  if (kind === "gone") return new PlaceGone(message!);
  if (code === "image-denied") return new ImageDenied(message ?? text);
  return new StartRefused(message ?? text, { reason: (code ?? "start-refused") as StartCode });
}
