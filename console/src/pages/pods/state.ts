/** What the pages of Pods say about one, worked out from its record. */
import { type PodAction, type PodStatus, podLifecycle } from "@millrace/platform/resources/pods/lifecycle.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";

/** A Pod as far as these rules look at it. */
export type PodFacts = Pick<Pod, "name" | "status" | "actions" | "locked" | "cluster" | "mounts">;

/** `2 x RTX 4090` or `cpu3c, 4 vCPU`. */
export function computeText({ gpu, cpu }: Pick<Pod, "gpu" | "cpu">): string {
  if (gpu) return `${gpu.count > 1 ? `${gpu.count} x ` : ""}${gpu.id.replace(/^(NVIDIA|AMD) (GeForce )?/, "")}`;
  return cpu ? `${cpu.id}, ${cpu.vcpuCount} vCPU` : "";
}

/** Milliseconds since the program was started, while it runs. */
export function uptimeOf({ status, startedAt }: Pick<Pod, "status" | "startedAt">, now: number): number | undefined {
  if (status !== "RUNNING" || startedAt === null) return undefined;
  return Math.max(0, now - Date.parse(startedAt));
}

/** Why an action cannot be asked for now; undefined where it can. */
export function refusedAction(pod: PodFacts, action: PodAction): string | undefined {
  if (pod.actions.includes(action)) return undefined;
  if (pod.cluster) return "It is a member of a cluster, which is stopped and deleted as a whole.";
  if (pod.locked && podLifecycle.can(pod.status, action)) return "It is locked. Unlock it in its settings first.";
  return `It is ${pod.status.toLowerCase()}. ${whenText(action)}`;
}

function whenText(action: PodAction): string {
  const when: Record<PodAction, string> = {
    start: "Only a Pod that was stopped or failed can be started.",
    stop: "Only a Pod that runs or is about to can be stopped.",
    restart: "Only a Pod that runs can be restarted.",
    terminate: "Nothing of it is left.",
  };
  return when[action];
}

/** What goes with each action, one sentence each. */
export function lostBy(action: "stop" | "restart" | "terminate", { mounts }: Pick<Pod, "mounts">): string[] {
  const { persistent, network = [] } = mounts;
  const lost = ["What its program wrote to the container disk is lost."];
  if (persistent) {
    lost.push(
      action === "terminate"
        ? `Its persistent mount ${persistent.path} (${persistent.size} GB) is deleted with everything in it.`
        : `Its persistent mount ${persistent.path} stays${action === "stop" ? " and costs as before" : ""}.`,
    );
  }
  for (const { path, volumeId } of network) lost.push(`The network volume ${volumeId} at ${path} stays.`);
  return lost;
}

interface Filters {
  statuses: readonly string[];
  kind: string;
  dataCenter: string;
  words: string;
}

/** Every word has to be found in its name, id, image or compute. */
export function fits(
  pod: Pick<Pod, "id" | "name" | "image" | "status" | "gpu" | "cpu" | "dataCenterId">,
  { statuses, kind, dataCenter, words }: Filters,
): boolean {
  if (statuses.length > 0 && !statuses.includes(pod.status)) return false;
  if (kind !== "all" && (kind === "gpu") !== (pod.gpu !== undefined)) return false;
  if (dataCenter !== "all" && pod.dataCenterId !== dataCenter) return false;
  const text = `${pod.name} ${pod.id} ${pod.image} ${computeText(pod)}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

const QUIET: readonly PodStatus[] = ["EXITED", "TERMINATED"];

/** Failed ones in red, ones that were stopped in peace; the rest waits. */
export const reasonTone = (status: PodStatus): "bad" | "wait" => (status === "ERROR" ? "bad" : "wait");
export const isQuiet = (status: PodStatus): boolean => QUIET.includes(status);

interface Chosen {
  able: string[];
  refused: number;
}

/** Of the Pods that were chosen, those that take an action now. */
export function ableTo(
  pods: readonly Pick<Pod, "id" | "actions">[],
  ids: readonly string[],
  action: PodAction,
): Chosen {
  const chosen = pods.filter(({ id }) => ids.includes(id));
  const able = chosen.filter((pod) => pod.actions.includes(action)).map(({ id }) => id);
  return { able, refused: chosen.length - able.length };
}

/** The names of changed fields that restart a Pod which runs, as its model marks them. */
export function bootsAmong(changed: object, schema: { properties: Record<string, unknown> }): string[] {
  return Object.keys(changed).filter((name) => (schema.properties[name] as { "x-boot"?: boolean })?.["x-boot"]);
}
