/** The fields of Kubernetes objects that the driver reads, and the names and labels that it gives them. */
import { createHash } from "node:crypto";

export interface Meta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  /** 0 once the node has ended everything of a deleted Pod. */
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

export interface KubeObject {
  metadata: Meta;
}

export interface KubeList<T> {
  metadata: { resourceVersion: string; continue?: string };
  items: T[];
}

interface Terminated {
  exitCode: number;
  signal?: number;
  reason?: string;
  message?: string;
  startedAt?: string | null;
  finishedAt?: string | null;
}

export interface ContainerStatus {
  name: string;
  state: {
    waiting?: { reason?: string; message?: string };
    running?: { startedAt: string };
    terminated?: Terminated;
  };
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Pod extends KubeObject {
  spec: {
    nodeName?: string;
    containers: { name: string; resources?: { requests?: Quantities; limits?: Quantities } }[];
    initContainers?: { name: string; restartPolicy?: string; resources?: { requests?: Quantities } }[];
    overhead?: Quantities;
  };
  status?: {
    phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    reason?: string;
    message?: string;
    podIP?: string;
    startTime?: string;
    conditions?: Condition[];
    containerStatuses?: ContainerStatus[];
  };
}

export type Quantities = Record<string, string>;

export interface Node extends KubeObject {
  spec: { unschedulable?: boolean; taints?: { key: string; effect: string }[] };
  status: { allocatable?: Quantities; conditions?: Condition[]; addresses?: { type: string; address: string }[] };
}

export interface KubeEvent extends KubeObject {
  involvedObject: { uid?: string };
  reason?: string;
  message?: string;
}

export interface Service extends KubeObject {
  spec: { ports: { port: number; targetPort: number; nodePort?: number }[] };
}

export interface ConfigMap extends KubeObject {
  data?: Record<string, string>;
}

export interface Claim extends KubeObject {
  spec: { resources?: { requests?: Quantities } };
  status?: { phase?: string };
}

/** The container that runs the program of an instance. */
export const MAIN = "main";
/** The container that writes the names of a group's members. */
export const NAMES = "names";
/** As long as it is there, Kubernetes keeps the Pod, so nobody can delete one whose exit the server has not seen. */
export const FINALIZER = "millrace.dev/kept";

export const label = {
  installation: "millrace.dev/installation",
  instance: "millrace.dev/instance",
  kind: "millrace.dev/kind",
  account: "millrace.dev/account",
  group: "millrace.dev/group",
  /** Set on what belongs to one instance. */
  part: "millrace.dev/part",
  /** Set on the claim of a volume. */
  volume: "millrace.dev/volume",
  pretended: "millrace.dev/pretended-gpus",
} as const;

/** Values that are no labels: any text may stand here. */
export const note = {
  owner: "millrace.dev/owner",
  ports: "millrace.dev/ports",
  volumes: "millrace.dev/volumes",
  gpu: "millrace.dev/gpu",
  box: "millrace.dev/box",
  groupName: "millrace.dev/group-name",
  groupFullNames: "millrace.dev/group-full-names",
  groupReserved: "millrace.dev/group-reserved",
  published: "millrace.dev/published",
  memoryMb: "millrace.dev/memory-mb",
  /** Of the claim of a volume: its size, whether several nodes may mount it, and that it is being removed. */
  sizeGb: "millrace.dev/size-gb",
  shared: "millrace.dev/shared",
  removing: "millrace.dev/removing",
  /** That Millrace itself asked it to end. */
  stopping: "millrace.dev/stopping",
  /** Why it will never begin, as `code message`. */
  refused: "millrace.dev/refused",
} as const;

/** The name of everything that belongs to an instance. */
export const podName = (id: string) => `millrace-${id.toLowerCase()}`;

/** A label's value that stands for any text. */
export const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 32);

export const isReady = ({ status, metadata }: Node): boolean =>
  metadata.deletionTimestamp === undefined &&
  (status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") ?? false);

const UNITS: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Reads a quantity such as `500m`, `2Gi` or `1e3`. Anything else is 0. */
export function quantity(text: string | number | undefined): number {
  const [, number, unit] = /^([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(String(text ?? "")) ?? [];
  const factor = UNITS[unit ?? ""];
  return number === undefined || factor === undefined ? 0 : Number(number) * factor;
}
