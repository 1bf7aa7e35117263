/** Turns a caller's terms into the fields of a Pod, and refuses terms that a Pod cannot have. */
import { isDataCenter, mostSold, poolOfType } from "../../catalog/compute.ts";
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { changedIn } from "../../kernel/same.ts";
import { MOST_PUBLISHED } from "../../ports/compute/publish.ts";
import { commandOf } from "../container/command.ts";
import { containerMistakes, mountMistakes } from "../container/mistakes.ts";
import { cpuFrom } from "../endpoints/compute.ts";
import { refuseLowBid } from "./bids.ts";
import { diskOnCpus } from "./disk-limit.ts";
import { type KeptPod, LEAST_PERSISTENT_GB, Pod, type PodConfig, type PodGpu, podBoots } from "./model.ts";

/** What a caller sets on a Pod, through any surface. */
export type PodTerms = Partial<
  Omit<PodConfig, "gpu" | "cpu" | "template"> & {
    gpu: Partial<PodGpu> & Pick<PodGpu, "types">;
    cpu: { id: string; vcpuCount: number }[];
    templateId: string;
    /** The mount path is a default that nobody chose. If the template has a path, that one is used. */
    isDefaultPath: boolean;
  }
>;

/** The defaults of the model, and of the fields that only other surfaces have. */
const unsaid = () => ({
  ...unsaidOf(Pod),
  ...{ cloud: "SECURE" as const, dataCenterIds: [], countryCodes: [] },
  ...{ globalNetworking: false, startSsh: false, startJupyter: false },
  ...{ idleTimeout: null, stopAfter: null, terminateAfter: null },
  ...{ interruptible: false, bidPerGpu: null },
});

/** `terms` includes what comes from a template; `said` is what the caller set. */
export function created(terms: PodTerms, said: PodTerms = terms): PodConfig {
  const { gpu, cpu, args, entrypoint, cmd, mounts = {}, templateId, isDefaultPath: _, ...plain } = terms;
  const { name, image } = plain;
  if (name === undefined) throw missing("name");
  if (image === undefined) throw missing("image", " unless 'templateId' is given");
  if ((gpu === undefined) === (cpu === undefined))
    throw problem("rule-broken", "Exactly one of 'gpu' and 'cpu' must be set.");
  refuse(containerMistakes(terms, { symmetric: true }));
  const config = checked({
    ...unsaid(),
    ...present(plain),
    ...{ name, image },
    ...commandOf({ args, entrypoint, cmd }),
    ...(gpu && { gpu: gpuFrom(gpu, plain.cloud) }),
    ...(cpu && { cpu: cpuFrom(cpu) }),
    mounts: mountsFrom(mounts),
    template: templateId ?? null,
  });
  refuse(mountMistakes(config));
  refuseLowBid(config);
  return { ...config, ...diskOnCpus(config, said.disk !== undefined) };
}

/** The fields that change, and the names of those that only take effect with a new boot. */
export interface PodUpdate {
  set: Partial<PodConfig>;
  reboots: string[];
}

export function updated(before: KeptPod, terms: PodTerms, said: PodTerms = terms): PodUpdate {
  const { args, entrypoint, cmd, mounts, templateId, env, gpu: _, cpu: __, ...plain } = terms;
  refuse(containerMistakes(terms, { symmetric: true }));
  const set: Partial<PodConfig> = {
    ...plain,
    ...(env && { env: withPassword(before, env) }),
    ...commandOf({ args, entrypoint, cmd }, before),
    ...(mounts && { mounts: mountsAfter(before.mounts, mounts) }),
    ...(templateId !== undefined && { template: templateId }),
    ...(terms.disk !== before.disk && diskAfter(before, terms, said)),
  };
  const after = checked({ ...before, ...set });
  if (terms.image !== undefined || mounts) refuse(mountMistakes(after));
  const changed = changedIn<PodConfig>(before, set);
  const names = Object.keys(changed) as (keyof PodConfig)[];
  return { set: changed, reboots: names.filter((name) => podBoots[name]) };
}

/** A disk that exceeds today's limit stays as it is until somebody changes it. */
const diskAfter = (before: KeptPod, { disk }: PodTerms, said: PodTerms): Partial<PodConfig> =>
  disk === undefined ? {} : diskOnCpus({ ...before, disk }, said.disk !== undefined);

/** The password of the Pod's notebook, which Millrace generates. */
export const JUPYTER_PASSWORD = "JUPYTER_PASSWORD";

/** Keeps the generated password, which a caller who replaces all variables need not know. */
function withPassword({ startJupyter, env: before }: KeptPod, env: Record<string, string>): Record<string, string> {
  const password = before[JUPYTER_PASSWORD];
  return startJupyter && password !== undefined ? { [JUPYTER_PASSWORD]: password, ...env } : env;
}

/** Mounts can only be changed if the Pod had them from the start, and they never get smaller. */
function mountsAfter(before: KeptPod["mounts"], { persistent, network }: KeptPod["mounts"]): KeptPod["mounts"] {
  if (network?.length === 0)
    throw problem("rule-broken", "'mounts.network' cannot be emptied: a Pod keeps the volume that it was made with.");
  if (persistent && !before.persistent) throw problem("rule-broken", unmounted("persistent"));
  if (network && !before.network) throw problem("rule-broken", unmounted("network"));
  const [old, wanted] = [before.network?.[0], network?.[0]];
  if (wanted && old && wanted.volumeId !== old.volumeId)
    throw problem("rule-broken", "'mounts.network' names another volume: a Pod keeps the one that it was made with.");
  if (persistent && before.persistent && persistent.size < before.persistent.size)
    throw problem("rule-broken", `'mounts.persistent.size' is ${before.persistent.size} GB and cannot become smaller.`);
  return { ...before, ...(persistent && { persistent }), ...(network && { network }) };
}

const unmounted = (kind: string) => `This Pod was made without 'mounts.${kind}', and cannot get it later.`;

/** An empty list of volumes means none. A template may name less storage than a Pod has at least. */
function mountsFrom({ persistent, network = [] }: KeptPod["mounts"]): KeptPod["mounts"] {
  const least = (size: number) => Math.max(LEAST_PERSISTENT_GB, size);
  return {
    ...(persistent && { persistent: { ...persistent, size: least(persistent.size) } }),
    ...(network.length > 0 && { network }),
  };
}

function gpuFrom({ types: named, count = 1, ...rest }: NonNullable<PodTerms["gpu"]>, cloud?: KeptPod["cloud"]): PodGpu {
  const unknown = named.find((type) => poolOfType(type) === undefined);
  if (unknown !== undefined)
    throw problem("rule-broken", `There is no GPU type '${unknown}'.`, { reason: "gpu-unknown" });
  const types = soldIn(cloud ?? "SECURE", named, count);
  const { allowedCudaVersions = [], minCudaVersion = null, minRamPerGpu = null, minVcpuPerGpu = null } = rest;
  if (allowedCudaVersions.length > 0 && minCudaVersion !== null)
    throw problem(
      "rule-broken",
      "'gpu.allowedCudaVersions' and 'gpu.minCudaVersion' exclude each other; send one of them.",
    );
  return { types, count, allowedCudaVersions, minCudaVersion, minRamPerGpu, minVcpuPerGpu };
}

/** The types of which the cloud sells this many at once. */
export function soldIn(cloud: KeptPod["cloud"], types: readonly string[], count: number): string[] {
  const sold = types.filter((type) => mostSold(type, cloud) >= count);
  if (sold.length > 0) return sold;
  const [type = ""] = types;
  const most = mostSold(type, cloud);
  throw problem(
    "rule-broken",
    most === 0
      ? `'${type}' is not offered in the ${cloud} cloud: choose another type or cloud.`
      : `'gpu.count' is ${count}, and a Pod in the ${cloud} cloud has at most ${most} of '${type}'.`,
    { reason: "gpu-not-offered" },
  );
}

/** Checks the rules across fields, for new and changed Pods alike. */
function checked<T extends PodConfig>(config: T): T {
  const { mounts, cpu, dataCenterIds, ports } = config;
  if (mounts.persistent && mounts.network)
    throw problem("rule-broken", "'mounts' takes one of 'persistent' and 'network', not both.");
  if (mounts.persistent && cpu)
    throw problem("rule-broken", "'mounts.persistent' goes with GPU Pods; a CPU Pod takes a network volume.");
  if (config.globalNetworking && cpu)
    throw problem("rule-broken", "'globalNetworking' goes with GPU Pods: a CPU Pod cannot have it.");
  const unknown = dataCenterIds.find((id) => !isDataCenter(id));
  if (unknown !== undefined) throw problem("rule-broken", `There is no data center '${unknown}'.`);
  const twice = ports.map((port) => port.split("/")[0]).find((port, i, all) => all.indexOf(port) !== i);
  if (twice !== undefined) throw problem("rule-broken", `'ports' names port ${twice} twice.`);
  const http = ports.filter((port) => port.endsWith("/http")).length;
  if (http > MOST_HTTP_PORTS)
    throw problem("rule-broken", `'ports' names ${http} HTTP ports; a Pod has ${MOST_HTTP_PORTS} at most.`);
  const tcp = ports.length - http;
  if (tcp > MOST_PUBLISHED)
    throw problem("rule-broken", `'ports' names ${tcp} TCP ports; a Pod has ${MOST_PUBLISHED} at most.`);
  return config;
}

const MOST_HTTP_PORTS = 10;
function refuse(errors: string[]): void {
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
}

function missing(name: string, unless = "") {
  return problem("invalid", "Request validation failed.", { errors: [`$: property '${name}' is required${unless}`] });
}
