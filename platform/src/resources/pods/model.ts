/** Pods: programs or containers that run until somebody ends them, and keep what they stored. */
import { bootsOf } from "../../kernel/boot.ts";
import { type Claiming, claimedName } from "../../kernel/claim.ts";
import type { Document, Kept } from "../../kernel/document.ts";
import type { Moved } from "../../kernel/lifecycle.ts";
import type { Metering } from "../../kernel/metered.ts";
import { KIB, MIB } from "../../kernel/operation.ts";
import { type Reason, upcastReason } from "../../kernel/reason.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, name, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";
import { containerFields, shownContainerFields } from "../container/model.ts";
import { cudaVersion, MOST_ITEMS } from "../endpoints/model.ts";
import { type PodStatus, podActions, podStatuses } from "./lifecycle.ts";

/** The limit of a Pod's description, in the body of a request and with what its template adds. */
export const POD_BYTES = 100 * KIB;
/** The same limit for a cluster, which is described once for all members. */
export const CLUSTER_SAID_BYTES = MIB;
/** The limit of all members of a cluster as they are kept, because one commit writes them. */
export const CLUSTER_BYTES = 4 * MIB;

const path = t.String({
  minLength: 2,
  maxLength: 512,
  pattern: "^/",
  description:
    "Where the program sees it: an absolute path such as `/workspace`, not `/` and not in `/proc`, `/sys` or `/dev`; with a `host` image also not in a folder that the machine has there, such as `/app` or `/usr`.",
});

/** Older clients and templates may say less, and their Pods get this much. */
export const LEAST_PERSISTENT_GB = 10;

export const persistentMount = closed({
  size: t.Integer({
    minimum: LEAST_PERSISTENT_GB,
    maximum: 1_000_000,
    description: "GB, on the machine that the Pod runs on.",
  }),
  path,
});

const networkMount = closed({ volumeId: name({ description: "A network volume of the Pod's data center." }), path });

export const mounts = closed({
  persistent: t.Optional(persistentMount),
  network: t.Optional(t.Array(networkMount, { maxItems: 1 })),
});

const cudaTerms = {
  allowedCudaVersions: t.Optional(
    t.Array(cudaVersion, {
      default: [],
      maxItems: MOST_ITEMS,
      uniqueItems: true,
      description: "Exact CUDA versions; an empty list means any.",
    }),
  ),
  minCudaVersion: t.Optional({ ...cudaVersion, description: "Least CUDA version." }),
};

const perGpu = (description: string) => t.Optional(t.Integer({ minimum: 1, maximum: 1_000_000, description }));

const gpuRequest = closed({
  id: name({ description: "GPU type, by its id in the catalog." }),
  count: t.Optional(t.Integer({ minimum: 1, maximum: 1024, default: 1 })),
  ...cudaTerms,
  minRamPerGpu: perGpu("GB of memory that go with each GPU at least."),
  minVcpuCountPerGpu: perGpu("vCPUs that go with each GPU at least."),
});

const cpuRequest = closed({
  id: name({ description: "CPU flavor, by its id in the catalog." }),
  vcpuCount: t.Integer({ minimum: 2, maximum: 1024, description: "A power of two within the flavor." }),
});

const sshEndpoint = t.Object({
  host: t.String(),
  port: t.Integer(),
  username: t.String(),
  command: t.String(),
});

const percent = t.Integer({ minimum: 0 });

const runtime = t.Object({
  uptime: t.Integer({ minimum: 0, description: "Seconds since its program was started." }),
  gpus: t.Array(t.Object({ util: percent, memoryUtil: percent }), {
    description: "Percent, one entry for each GPU that can be measured; virtual ones cannot.",
  }),
  cpu: t.Object({ util: percent }),
  memory: t.Object({ util: percent }),
  ports: t.Array(
    t.Object({
      private: t.Integer(),
      public: nullable(t.Integer()),
      type: t.String({ description: "`http` or `tcp`." }),
      ip: nullable(t.String()),
      url: t.Optional(t.String({ description: "Where an HTTP port is reached." })),
    }),
  ),
});

const clusterRoles = ["SLURM_CONTROLLER", "SLURM_COMPUTE", "RAY_HEAD", "RAY_WORKER"] as const;
export type ClusterRole = (typeof clusterRoles)[number];

export const clouds = ["SECURE", "COMMUNITY"] as const;

export const Pod = resource("Pod", {
  assigned: {
    id: t.String({ description: "Unique Pod identifier." }),
    status: oneOf(podStatuses),
    statusReason: nullable(
      t.String({ description: "Why it is in this status, in words for people; null while it is `RUNNING`." }),
    ),
    statusReasonCode: nullable(t.String({ description: "The code of `statusReason`, for programs: docs/reasons.md." })),
    actions: t.Array(oneOf(podActions), { description: "What can be done with it now." }),
    gpu: t.Optional(
      t.Object({
        id: t.String(),
        count: t.Integer({ minimum: 1 }),
        vcpuCount: t.Number({ minimum: 1 }),
        memory: t.Number({ minimum: 1, description: "GB, of the whole Pod." }),
        virtual: t.Optional(t.Boolean({ description: "True where its GPUs are made up." })),
      }),
    ),
    cpu: t.Optional(
      t.Object({
        id: t.String(),
        vcpuCount: t.Integer({ minimum: 2 }),
        memory: t.Integer({ minimum: 1, description: "GB." }),
      }),
    ),
    cloud: oneOf(clouds),
    dataCenterId: nullable(t.String({ description: "Null until it has a place." })),
    cudaVersion: nullable(t.String({ description: "Kept while it is stopped." })),
    ssh: t.Object({
      proxy: {
        ...nullable(sshEndpoint),
        description: "By way of this server, with a key of the account; null until it has had a machine.",
      },
      direct: { ...nullable(sshEndpoint), description: "To a server of its own at its published port 22." },
    }),
    cluster: t.Optional(
      t.Object(
        {
          id: t.String(),
          rank: t.Integer({ minimum: 0, description: "0 is the primary." }),
          role: t.Optional(oneOf(clusterRoles)),
          ip: t.Optional(t.String({ description: "Where the other members reach it, once that is known." })),
        },
        { description: "Only of a member of a cluster, which nobody changes, stops or deletes by itself." },
      ),
    ),
    template: nullable(t.String({ description: "The template that it was made from." })),
    cost: t.Number({ description: "USD per hour now, for compute. Storage costs extra." }),
    runtime: { ...nullable(runtime), description: "Null unless it is `RUNNING`." },
    lastStatusChange: dateTime("When its status last changed."),
    createdAt: dateTime("Creation time."),
    startedAt: nullable(dateTime("When its program was last started.")),
  },
  given: {
    name: name({ description: "Name for people.", "x-boot": false }),
    ...containerFields,
    mounts: t.Optional({
      ...mounts,
      description: "Storage: one `persistent` folder, or one network volume.",
      "x-boot": true,
    }),
    locked: t.Optional(
      t.Boolean({ default: false, description: "Keeps it from being stopped or reset.", "x-boot": false }),
    ),
    globalNetworking: t.Optional(
      t.Boolean({
        default: false,
        description: "Whether it is reached by the account's other Pods that ask for it.",
        "x-boot": true,
      }),
    ),
    idleTimeout: t.Optional({
      ...nullable(
        t.Integer({
          minimum: 60,
          maximum: 2_592_000,
          description:
            "Seconds without use of CPU, GPU, HTTP ports or terminals after which it is stopped; null for never.",
        }),
      ),
      "x-boot": false,
    }),
  },
  emptyUpdate: true,
  hidden: {
    templateId: t.Optional(name({ description: "Template whose fields are copied once.", "x-boot": false })),
  },
  once: {
    cloud: t.Optional(oneOf(clouds, { default: "SECURE", "x-boot": true })),
    gpu: t.Optional({ ...gpuRequest, "x-boot": true }),
    // Asking for a larger disk may leave fewer flavors, but always the one that the Pod has.
    cpu: t.Optional({ ...cpuRequest, "x-boot": false }),
    dataCenterIds: t.Optional(
      t.Array(name(), {
        default: [],
        maxItems: MOST_ITEMS,
        description: "Data centers; an empty list means any.",
        "x-boot": true,
      }),
    ),
    startSsh: t.Optional(
      t.Boolean({ description: "Gives it the account's SSH keys as `PUBLIC_KEY`.", "x-boot": true }),
    ),
    startJupyter: t.Optional(t.Boolean({ description: "Gives it a new `JUPYTER_PASSWORD`.", "x-boot": true })),
  },
  shown: {
    ...shownContainerFields,
    mounts,
    locked: t.Boolean(),
    globalNetworking: t.Object({
      enabled: t.Boolean(),
      ip: t.Optional(t.String()),
      internalDns: t.Optional(t.String()),
    }),
    idleTimeout: nullable(t.Integer()),
  },
});
export type Pod = RecordOf<typeof Pod>;

export type PersistentMount = Static<typeof persistentMount>;

/** GPU types in order of preference, in the terms of every dialect. */
export type PodGpu = {
  types: string[];
  count: number;
  allowedCudaVersions: string[];
  minCudaVersion: string | null;
  minRamPerGpu: number | null;
  minVcpuPerGpu: number | null;
};

/** CPU flavors in order of preference. */
export type PodCpu = { id: string; vcpuCount: number; memory: number }[];

/** The last place on a machine. It is kept while the Pod is stopped. */
export type LastPlace = {
  machine: string;
  dataCenter: string;
  gpuType: string | null;
  gpuCount: number;
  flavor: string | null;
  vcpu: number;
  memoryMb: number;
  cuda: string | null;
  virtual: boolean;
};

/** The number of starts that failed in a row. It starts over once the program has run well for a while. */
export type Crashes = { count: number; startsAgainAt: number };

/** The Pod's role in its cluster, which never changes. */
export type ClusterSeat = {
  id: string;
  rank: number;
  /** The number of members, and of GPUs per member. */
  members: number;
  gpusEach: number;
  role: ClusterRole | null;
};

/** The disks are metered. Pods of earlier releases do not know the key that created them. */
type Charged = Metering & { createdBy?: string | null };

/** The fields that callers set, as they are kept: those of the model, and those that only other surfaces have. */
export type PodConfig = KeptOf<
  typeof Pod,
  {
    gpu?: PodGpu;
    cpu?: PodCpu;
    cloud: (typeof clouds)[number];
    dataCenterIds: string[];
    /** Countries in which the data center may be. An empty list means any. */
    countryCodes: string[];
    /** The mount path that a caller of an older surface set for storage that the Pod does not have. */
    mountPath?: string;
    globalNetworking: boolean;
    startSsh: boolean;
    /** Gives the Pod a notebook password, generated once unless its variables have one. */
    startJupyter: boolean;
    template: string | null;
    /** The times at which the Pod is stopped and terminated automatically. */
    stopAfter: number | null;
    terminateAfter: number | null;
    /** An interruptible Pod gives way to others. It pays its bid in USD per GPU and hour, or the spot price if it bids nothing. */
    interruptible: boolean;
    bidPerGpu: number | null;
  }
>;

/** For each field, whether a change restarts a running Pod: as the model says, and for the fields that only other surfaces have. */
export const podBoots: Record<keyof PodConfig, boolean> = {
  ...bootsOf(Pod),
  ...{ countryCodes: true, mountPath: false, template: false },
  ...{ stopAfter: false, terminateAfter: false, interruptible: false, bidPerGpu: false },
};

/** The state of a Pod. */
export type PodState = {
  /** The Pod runs without its GPUs for now. Everything else stays the same. */
  withoutGpu?: boolean;
  /** The Pod's place in its cluster, if it is a member. */
  cluster?: ClusterSeat;
  status: Moved<PodStatus>;
  reason: Reason | null;
  lastStatusChange: number;
  startedAt: number | null;
  /** The Pod's instance, or null while it has none. */
  instance: string | null;
  last: LastPlace | null;
  /** Every machine that the Pod was ever on. Something of it is still there, at least its log. */
  machines: string[];
  crashes: Crashes | null;
  /** The outside port of each TCP port, by the number that names it. The Pod keeps them where it can. */
  publicPorts: Record<string, number>;
  /** The machine that these ports belong to, and its outside address if that is known. */
  portsAt?: { machine: string; ip: string | null } | null;
  /** The address for the account's other Pods, while the Pod runs. */
  address?: string | null;
};

export type KeptPod = PodConfig & PodState & Charged & Claiming;

/** The list keys find Pods that wait, that have a timer, and that use something. */
export const pods: Kept<KeptPod & Document> = {
  kind: "pod",
  v: 2,
  // Older releases kept the reason as plain text.
  upcasts: { 1: (old) => ({ ...old, reason: upcastReason(old.reason) }) },
  keysVersion: 2,
  unique: (pod) => ({ name: claimedName(pod) }),
  // No two Pods have the same port of a machine, on whichever nodes. A stopped Pod keeps its ports.
  uniqueEverywhere: ({ publicPorts, portsAt }) =>
    Object.fromEntries(Object.values(publicPorts).map((port) => [`port ${port}`, portsAt?.machine])),
  listed: ({ name, status, template, registry, mounts, stopAfter, terminateAfter, idleTimeout, portsAt, cluster }) => ({
    name,
    status,
    cluster: cluster?.id,
    member: cluster ? "yes" : undefined,
    portsAt: portsAt?.machine,
    template: template ?? undefined,
    registry: registry ?? undefined,
    volume: mounts.network?.map(({ volumeId }) => volumeId),
    idles: idleTimeout !== null && status === "RUNNING" ? "yes" : undefined,
    timed: stopAfter !== null || terminateAfter !== null ? "yes" : undefined,
  }),
};

/** The log stream of a Pod, shared by all of its instances. */
export const podLog = (pod: string) => `pod/${pod}`;

/** The id of the volume that is a Pod's persistent mount. */
export const persistentVolume = (pod: string) => `pod-${pod}`;
