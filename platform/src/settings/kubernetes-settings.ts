/** The settings of the Kubernetes driver, a part of the table of all settings. */
import { folder, oneOf, portRange, text } from "./setting-values.ts";

const list = (given: string): string[] =>
  given
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

function namespace(given: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(given))
    throw new Error("must be the name of a namespace: at most 40 small letters, digits and dashes");
  return given;
}

const SERVER =
  /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(:[a-z0-9A-Z][\w./-]{0,316}=[\w.-]{0,63})?|[0-9a-f.:]+(\/\d{1,3})?)$/;

function servers(given: string): string[] {
  const odd = list(given).find((one) => !SERVER.test(one));
  if (odd !== undefined)
    throw new Error(`must be namespaces, NAMESPACE:LABEL=VALUE or address ranges; '${odd}' is none`);
  return list(given);
}

function annotations(given: string): Record<string, string> {
  const pairs = list(given).map((pair) => /^([^=\s]+)=(.*)$/.exec(pair));
  const odd = pairs.some((pair) => pair === null);
  if (odd) throw new Error("must be pairs such as example.com/name=value");
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]));
}

function share(given: string): number {
  const value = Number(given);
  if (!(value > 0 && value <= 1)) throw new Error("must be a number above 0 and up to 1");
  return value;
}

/** Returns the part of a Pod's volume that says where it is. */
function volumeSource(given: string): Record<string, unknown> {
  const [, claim] = /^claim:([a-z0-9.-]{1,253})$/.exec(given) ?? [];
  if (claim !== undefined) return { persistentVolumeClaim: { claimName: claim } };
  const [, server, path] = /^nfs:\/\/([^/]+)(\/.*)$/.exec(given) ?? [];
  if (server !== undefined) return { nfs: { server, path } };
  const [, hostPath] = /^host:(\/.*)$/.exec(given) ?? [];
  if (hostPath !== undefined) return { hostPath: { path: hostPath } };
  throw new Error("must be claim:NAME, nfs://SERVER/PATH or host:/PATH");
}

export const kubernetesSettings = {
  kubeconfig: {
    flag: "kubeconfig",
    variable: "MILLRACE_KUBECONFIG",
    value: "FILE",
    about: "cluster for MILLRACE_COMPUTE=kubernetes; default: the service account of its own Pod, or what kubectl uses",
    read: folder,
  },
  kubernetesContext: {
    flag: "kubernetes-context",
    variable: "MILLRACE_KUBERNETES_CONTEXT",
    value: "NAME",
    about: "context of the kubeconfig; default: its current one",
    read: text,
  },
  kubernetesNamespace: {
    flag: "kubernetes-namespace",
    variable: "MILLRACE_KUBERNETES_NAMESPACE",
    value: "NAME",
    default: "millrace",
    about: "namespace of the instances; each installation needs its own (docs/kubernetes.md)",
    read: namespace,
  },
  kubernetesNamespaces: {
    flag: "kubernetes-namespaces",
    variable: "MILLRACE_KUBERNETES_NAMESPACES",
    value: "HOW",
    default: "one",
    about: "one puts all instances into that namespace; account makes a namespace for each account",
    read: oneOf(["one", "account"]),
  },
  kubernetesDial: {
    flag: "kubernetes-dial",
    variable: "MILLRACE_KUBERNETES_DIAL",
    value: "HOW",
    default: "auto",
    about:
      "how the server reaches ports of Pods: address, forward (through the API server), or auto: address inside the cluster",
    read: oneOf(["auto", "address", "forward"]),
  },
  kubernetesServer: {
    flag: "kubernetes-server",
    variable: "MILLRACE_KUBERNETES_SERVER",
    value: "LIST",
    about:
      "where the server is, for network policies: namespaces, labelled Pods and address ranges, such as millrace-system,10.0.0.5/32 or millrace-system:app=millrace",
    read: servers,
  },
  kubernetesServices: {
    flag: "kubernetes-services",
    variable: "MILLRACE_KUBERNETES_SERVICES",
    value: "TYPE",
    default: "NodePort",
    about: "type of the Services for published TCP ports: NodePort or LoadBalancer",
    read: oneOf(["NodePort", "LoadBalancer"]),
  },
  kubernetesServiceAnnotations: {
    flag: "kubernetes-service-annotations",
    variable: "MILLRACE_KUBERNETES_SERVICE_ANNOTATIONS",
    value: "LIST",
    about: "annotations of these Services, such as metallb.io/allow-shared-ip=millrace: one address for all of them",
    read: annotations,
  },
  kubernetesAddress: {
    flag: "kubernetes-address",
    variable: "MILLRACE_KUBERNETES_ADDRESS",
    value: "ADDRESS",
    about: "address at which people reach published ports, such as the load balancer's; default: that of a node",
    read: text,
  },
  kubernetesNodePorts: {
    flag: "kubernetes-node-ports",
    variable: "MILLRACE_KUBERNETES_NODE_PORTS",
    value: "RANGE",
    default: "30000-32767",
    about: "node ports of the cluster, as its API server gives them out",
    read: portRange,
  },
  kubernetesVolumes: {
    flag: "kubernetes-volumes",
    variable: "MILLRACE_KUBERNETES_VOLUMES",
    value: "PLACE",
    about:
      "storage that all nodes share, for volumes: claim:NAME, nfs://SERVER/PATH or host:/PATH; MILLRACE_VOLUMES is the same folder as the server sees it",
    read: volumeSource,
  },
  kubernetesStorageClass: {
    flag: "kubernetes-storage-class",
    variable: "MILLRACE_KUBERNETES_STORAGE_CLASS",
    value: "NAME",
    about: "makes a claim of this class for each persistent mount; in the place of MILLRACE_KUBERNETES_VOLUMES",
    read: text,
  },
  kubernetesSharedClass: {
    flag: "kubernetes-shared-class",
    variable: "MILLRACE_KUBERNETES_SHARED_CLASS",
    value: "NAME",
    about:
      "makes a claim of this class for each network volume; several nodes must be able to mount it (ReadWriteMany)",
    read: text,
  },
  kubernetesImages: {
    flag: "kubernetes-images",
    variable: "MILLRACE_KUBERNETES_IMAGES",
    value: "LIST",
    about:
      "images that you loaded on the nodes yourself: names, or beginnings such as mine/*; others come from their registries",
    read: list,
  },
  plainRegistries: {
    flag: "plain-registries",
    variable: "MILLRACE_PLAIN_REGISTRIES",
    value: "LIST",
    about: "registries without TLS, such as 10.0.0.1:5000; the nodes must allow them too",
    read: list,
  },
  kubernetesRegistries: {
    flag: "kubernetes-registries",
    variable: "MILLRACE_KUBERNETES_REGISTRIES",
    value: "LIST",
    about: "registries at private addresses that images may come from, such as harbor.example.internal",
    read: list,
  },
  kubernetesCpuShare: {
    flag: "kubernetes-cpu-share",
    variable: "MILLRACE_KUBERNETES_CPU_SHARE",
    value: "SHARE",
    default: "1",
    about: "part of its processors that an instance requests: 0.5 places twice as many instances on a node",
    read: share,
  },
  kubernetesGpuResource: {
    flag: "kubernetes-gpu-resource",
    variable: "MILLRACE_KUBERNETES_GPU_RESOURCE",
    value: "NAME",
    default: "nvidia.com/gpu",
    about: "resource by which nodes offer GPUs",
    read: text,
  },
  kubernetesGpuLabel: {
    flag: "kubernetes-gpu-label",
    variable: "MILLRACE_KUBERNETES_GPU_LABEL",
    value: "NAME",
    default: "nvidia.com/gpu.product",
    about: "label of nodes that names the product of their GPUs",
    read: text,
  },
  kubernetesNamesImage: {
    flag: "kubernetes-names-image",
    variable: "MILLRACE_KUBERNETES_NAMES_IMAGE",
    value: "IMAGE",
    default: "docker.io/library/busybox:1.37",
    about: "image with a shell, for the container that writes the names of cluster members into their hosts files",
    read: text,
  },
  kubernetesRuntimeClass: {
    flag: "kubernetes-runtime-class",
    variable: "MILLRACE_KUBERNETES_RUNTIME_CLASS",
    value: "NAME",
    about: "runtime class of instances, such as one for gVisor or Kata; default: the cluster's",
    read: text,
  },
  kubernetesPriorityClass: {
    flag: "kubernetes-priority-class",
    variable: "MILLRACE_KUBERNETES_PRIORITY_CLASS",
    value: "NAME",
    about: "priority class of instances; default: the cluster's",
    read: text,
  },
};
