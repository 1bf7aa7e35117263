/** Translates an instance into the request that creates its container, and a container back into an instance. */
import { parseTimestamp } from "../../kernel/clock.ts";
import type { Exit, Gpu, Instance, InstanceKind, InstanceSpec, InstanceState } from "../../ports/compute/compute.ts";
import { groupKey } from "../../ports/compute/groups.ts";
import type { Published } from "../../ports/compute/publish.ts";
import type { MountedFolder } from "../../ports/compute/volumes.ts";
import { statusOf } from "../machine/exit-status.ts";

/** The labels hold everything about an instance that must outlive this process. The engine keeps them with the container. */
export const label = {
  installation: "millrace.installation",
  instance: "millrace.instance",
  kind: "millrace.kind",
  owner: "millrace.owner",
  account: "millrace.account",
  ports: "millrace.ports",
  gpus: "millrace.gpus",
  volumes: "millrace.volumes",
  /** Set on a container and on its group's network. */
  group: "millrace.group",
  groupName: "millrace.group.name",
  groupFullNames: "millrace.group.full-names",
  /** The address that was reserved for a member. */
  groupAddress: "millrace.group.address",
  /** These labels of a reserved network name its owner, its id and its members. */
  groupId: "millrace.group.id",
  groupMembers: "millrace.group.members",
  /** Set on a network that other machines share: its number, and the names of members on other machines. */
  groupSpan: "millrace.group.span",
  groupElsewhere: "millrace.group.elsewhere",
  published: "millrace.published",
} as const;

export type Labels = Readonly<Record<string, string>>;

export const containerName = (id: string) => `millrace-${id}`;

export const groupNetworkName = (installation: string, key: string) => `millrace-${installation}-${key.slice(0, 16)}`;

/** The fields of a container that the driver reads. */
export interface Container {
  Id: string;
  Created: string;
  State: {
    /** `created`, `running`, `paused`, `exited`, or one of several short-lived states. */
    Status: string;
    Running: boolean;
    /** The container's first process, numbered as on the engine's machine; 0 when there is none. */
    Pid?: number;
    Paused: boolean;
    OOMKilled: boolean;
    ExitCode: number;
    Error: string;
    StartedAt: string;
    FinishedAt: string;
  };
  Config: { Labels: Labels | null; StopSignal?: string };
  HostConfig: { Memory: number };
  NetworkSettings: { Networks: Record<string, { IPAddress?: string }> };
}

/** The part of a place that differs between instances. */
export type GivenPlace = Pick<ContainerPlace, "gpus" | "published" | "address" | "hosts">;

export interface ContainerPlace {
  installation: string;
  network: string;
  /** Processors of the machine. The engine refuses a CPU limit above this number. */
  processors: number;
  podman: boolean;
  /** Devices that this instance was given. */
  gpus: readonly Gpu[];
  /** Ports of the machine that forward to this container. */
  published?: readonly Published[];
  /** The address that was reserved for the instance in its group. */
  address?: string | undefined;
  /** Members of its group on other machines, as `name:address`. */
  hosts?: readonly string[];
  /** Whether the engine's storage driver can limit the size of a container. */
  limitsDisk: boolean;
}

const MB = 1024 * 1024;
/** Stops a fork bomb. No honest program needs this many processes. */
const MOST_PROCESSES = 4_096;
/**
 * Capabilities taken from Docker's default set. Raw sockets could forge packets on the bridge, and no program needs to create device nodes.
 */
const DROPPED_CAPABILITIES = ["NET_RAW", "MKNOD"];

/**
 * A container's CPU weight while processors are short. The server has 1024 shares, even when it runs in a container itself, so it keeps
 * answering while programs compute. Programs share the rest in proportion to the processors they asked for.
 */
const SHARES_PER_PROCESSOR = 64;
const LEAST_SHARES = 2;

/** Whether the container needs nothing that must be found or reserved before it is created. */
export const isPlain = ({ group, gpu, publish = [] }: InstanceSpec): boolean =>
  group === undefined && gpu === undefined && publish.length === 0;

/** The body of the request that creates an instance's container. */
export function containerRequest(
  id: string,
  spec: InstanceSpec,
  place: ContainerPlace,
  folders: readonly MountedFolder[] = [],
) {
  const processors = Math.min(spec.limits.vcpu, place.processors);
  const { published = [] } = place;
  return {
    Image: spec.image,
    Hostname: id,
    // The image's own value holds where a key is absent.
    ...(spec.entrypoint.length > 0 && { Entrypoint: spec.entrypoint }),
    ...(spec.cmd.length > 0 && { Cmd: spec.cmd }),
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    Labels: labelsOf(id, spec, place),
    ExposedPorts: Object.fromEntries(published.map(({ inside }) => [`${inside}/tcp`, {}])),
    HostConfig: {
      NetworkMode: place.network,
      ...(place.hosts && place.hosts.length > 0 && { ExtraHosts: place.hosts }),
      PortBindings: Object.fromEntries(
        published.map(({ inside, outside }) => [`${inside}/tcp`, [{ HostPort: String(outside) }]]),
      ),
      NanoCpus: Math.round(processors * 1e9),
      CpuShares: Math.max(LEAST_SHARES, Math.round(processors * SHARES_PER_PROCESSOR)),
      Memory: spec.limits.memoryMb * MB,
      // The same value as the memory limit, so the container gets no swap.
      MemorySwap: spec.limits.memoryMb * MB,
      // Programs that share tensors between processes need more than Docker's 64 MB. Shared memory counts as memory of the container.
      ShmSize: Math.floor(spec.limits.memoryMb / 2) * MB,
      PidsLimit: MOST_PROCESSES,
      ...(place.limitsDisk && { StorageOpt: { size: `${spec.limits.diskGb}G` } }),
      // Unlike `Binds`, `Mounts` does not create a missing folder on a remote engine.
      Mounts: folders.map(({ source, path, readOnly = false }) => ({
        ...{ Type: "bind", Source: source, Target: path },
        ...(readOnly && { ReadOnly: true }),
      })),
      CapDrop: DROPPED_CAPABILITIES,
      SecurityOpt: ["no-new-privileges"],
      // A small first process reaps children and passes signals on. Without it a program that installs no handler would ignore SIGTERM.
      Init: true,
      LogConfig: logConfig(place.podman),
      RestartPolicy: { Name: "no" },
      AutoRemove: false,
      ...deviceRequests(place.gpus),
    },
  };
}

function labelsOf(id: string, spec: InstanceSpec, place: ContainerPlace): Labels {
  const { installation, gpus, published = [], address } = place;
  return {
    [label.installation]: installation,
    [label.instance]: id,
    [label.kind]: spec.kind,
    [label.owner]: spec.owner,
    [label.account]: spec.account,
    [label.ports]: spec.ports.join(","),
    [label.gpus]: gpus.map((gpu) => gpu.id).join(","),
    ...(spec.group && {
      [label.group]: groupKey(spec.account, spec.group),
      [label.groupName]: spec.group.name,
      [label.groupFullNames]: (spec.group.fullNames ?? []).join(","),
      ...(address !== undefined && { [label.groupAddress]: address }),
    }),
    [label.volumes]: (spec.mounts ?? []).map(({ volume }) => volume).join(","),
    [label.published]: published.map(({ inside, outside }) => `${inside}:${outside}`).join(","),
  };
}

/** The ports that a container publishes, whether or not it runs. */
export function publishedOf(labels: Labels): Published[] {
  const ways = (labels[label.published] || undefined)?.split(",") ?? [];
  return ways.map((way) => {
    const [inside, outside] = way.split(":").map(Number) as [number, number];
    return { inside, outside };
  });
}

/** Millrace keeps the lines elsewhere. The engine's log only holds them while the server is away. */
const LOG_SIZE = { "max-size": "20m", "max-file": "3" };

/**
 * Docker's `local` log keeps bytes unchanged. `json-file` cuts a long line into pieces of 16 KB and damages a character that lies on a cut.
 */
const logConfig = (podman: boolean) =>
  podman ? { Type: "k8s-file", Config: { "max-size": "60m" } } : { Type: "local", Config: LOG_SIZE };

/** Requests the real devices only; a virtual GPU has no device. */
function deviceRequests(gpus: readonly Gpu[]) {
  const real = gpus.filter(({ virtual }) => !virtual).map(({ id }) => id);
  return real.length === 0 ? {} : { DeviceRequests: [{ DeviceIDs: real, Capabilities: [["gpu"]] }] };
}

export const isOf = (installation: string, { Config }: Container): boolean =>
  Config.Labels?.[label.installation] === installation;

export const portsOf = (container: Container): number[] => numbers(container.Config.Labels?.[label.ports]);

const numbers = (text = "") => (text === "" ? [] : text.split(",").map(Number));

export const gpusOf = (labels: Labels): string[] => (labels[label.gpus] || undefined)?.split(",") ?? [];

export const volumesOf = (labels: Labels): string[] => (labels[label.volumes] || undefined)?.split(",") ?? [];

export function instanceOf(container: Container): Instance {
  const { Config, State, HostConfig, Created } = container;
  const labels = Config.Labels ?? {};
  const state = stateOf(State);
  const published = publishedOf(labels);
  const startedAt = instant(State.StartedAt) ?? instant(Created)!;
  return {
    ...namedBy(labels),
    state,
    startedAt,
    ...(gpusOf(labels).length > 0 && { devices: gpusOf(labels) }),
    ...(state === "exited"
      ? { exit: exitOf(State, HostConfig.Memory, startedAt) }
      : { ...addressIn(container, labels), ...(published.length > 0 && { published }) }),
  };
}

/** The instance's address in its group's network. */
function addressIn({ NetworkSettings }: Container, labels: Labels): Pick<Instance, "address"> {
  const { [label.installation]: installation, [label.group]: key } = labels;
  const address = key && NetworkSettings.Networks[groupNetworkName(installation!, key)]?.IPAddress;
  return address ? { address } : {};
}

/** The facts about an instance that its labels state. */
const namedBy = (labels: Labels) => ({
  id: labels[label.instance]!,
  kind: labels[label.kind] as InstanceKind,
  owner: labels[label.owner]!,
});

function stateOf({ Running, Paused }: Container["State"]): InstanceState {
  if (Paused) return "frozen";
  return Running ? "running" : "exited";
}

function exitOf(state: Container["State"], memory: number, startedAt: number): Exit {
  if (state.Status === "created") return { code: null, at: startedAt, reason: "it was made and never started" };
  const at = instant(state.FinishedAt) ?? startedAt;
  if (state.OOMKilled)
    return {
      ...statusOf(state.ExitCode),
      at,
      reason: `out of memory: may use ${memory / MB} MB`,
      cause: "out-of-memory",
    };
  return { ...statusOf(state.ExitCode), at, ...(state.Error !== "" && { reason: state.Error }) };
}

/** The engine writes a time in the year 1 where there is none. */
function instant(text: string): number | undefined {
  const epochMs = parseTimestamp(text);
  return epochMs === undefined || epochMs <= 0 ? undefined : epochMs;
}
