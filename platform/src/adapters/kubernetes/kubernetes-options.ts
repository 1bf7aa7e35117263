/** The options of the Kubernetes driver. */
import type { Clock } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import type { Egress } from "../../ports/compute/egress.ts";
import type { PortRange } from "../../ports/compute/publish.ts";
import type { VolumeFolders } from "../machine/volume-folders.ts";
import type { DialMode } from "./pod-dial.ts";
import type { Peer } from "./policies.ts";

export interface KubernetesOptions {
  /** A kubeconfig's path. Without it, as kubectl finds one, or the service account of the server's own Pod. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  /** The installation whose Pods these are. The driver neither sees nor touches any other Pod. A label's value. */
  installation: string;
  namespace: string;
  perAccount?: boolean;
  /** How ports of Pods are reached. */
  dial: DialMode;
  /** Whom the policies let in beside members of a group: the server, where it is reached from Pods and dials by address. */
  server: readonly Peer[];
  /** The ports of the server that Pods reach: the one of its URL, and the one that it listens on behind a Service. */
  serverPorts?: readonly number[];
  egress: Egress;
  /** Whether published ports get a load balancer of the cloud, or a port of each node. */
  services?: "NodePort" | "LoadBalancer";
  /** For the load balancer, such as one that gives several Services one address. */
  serviceAnnotations?: Readonly<Record<string, string>> | undefined;
  /** The ports of nodes that the cluster gives out. */
  nodePorts?: PortRange;
  /** The share of its processors that an instance is promised; 1 by default. */
  cpuShare?: number;
  gpuResource?: string;
  gpuLabel?: string;
  gpuTypes: readonly string[];
  /**
   * Either the volumes as the server sees them and how Pods mount the same folder, or the classes of a claim for each volume. Without them,
   * the driver has no volumes.
   */
  volumes?:
    | { folders: VolumeFolders; source: Record<string, unknown> }
    | { storageClass?: string | undefined; sharedClass?: string | undefined }
    | undefined;
  /** Images that the operator put on the nodes: names, or beginnings that end with `*`. */
  nodeImages?: readonly string[];
  /** Registries that are asked without TLS, such as `10.0.0.1:5000`. */
  plainRegistries?: readonly string[];
  /** Registries that may be at private addresses. */
  registries?: readonly string[];
  /** An image with a shell, for the container that writes the names of a group's members. */
  namesImage?: string;
  /** How long a node may be silent before its Pods count as lost; 30 by default. */
  lostS?: number;
  runtimeClass?: string | undefined;
  priorityClass?: string | undefined;
  clock: Clock;
  log: Log;
  /** Receives the failures of background duties; by default they go to the log. */
  failed?: Failed;
}

/** Kubernetes' own default. */
export const NODE_PORTS: PortRange = { first: 30_000, last: 32_767 };
export const NAMES_IMAGE = "docker.io/library/busybox:1.37";
