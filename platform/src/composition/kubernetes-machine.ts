/** A Kubernetes cluster as one machine that runs instances. All servers that share a database name the same one, and one of them holds it. */
import { createHash } from "node:crypto";
import { isIP } from "node:net";
import { join } from "node:path";
import type { KubernetesCompute, KubernetesOptions } from "../adapters/kubernetes/kubernetes-compute.ts";
import type { Peer } from "../adapters/kubernetes/policies.ts";
import { VolumeFolders } from "../adapters/machine/volume-folders.ts";
import { gpuTypeIds } from "../catalog/compute.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Check } from "../kernel/finding.ts";
import type { Reason } from "../kernel/reason.ts";
import type { OwnMachine, Site } from "../machines/own-machine.ts";
import { doorsOf, nameServersOf } from "../ports/compute/egress.ts";
import type { Settings } from "../settings/settings.ts";
import type { Surroundings } from "./services.ts";

/** Set in every Pod of a cluster. */
const INSIDE = "KUBERNETES_SERVICE_HOST";

const NO_URL =
  "MILLRACE_COMPUTE=kubernetes needs MILLRACE_WORKER_URL: the URL at which Pods reach this server, such as http://millrace.millrace-system.svc:7420";

/** The same for all servers of an installation, and another for each namespace. */
const idOf = (namespace: string) => createHash("sha256").update(`kubernetes/${namespace}`).digest("hex").slice(0, 14);

export async function openKubernetesMachine(
  settings: Settings,
  { clock, random, log, failed }: Surroundings,
  { site, refusal, opened }: { site: Site; refusal: () => Reason | undefined; opened: AsyncDisposableStack },
): Promise<OwnMachine> {
  const { workerUrl, kubernetesNamespace: namespace } = settings;
  if (workerUrl === undefined) throw new Error(NO_URL);
  const isInside = process.env[INSIDE] !== undefined && settings.kubeconfig === undefined;
  const { kubernetesDial } = settings;
  // Loaded only here: a server without Kubernetes does not start slower.
  const driver = await import("../adapters/kubernetes/kubernetes-compute.ts");
  const compute: KubernetesCompute = opened.use(
    await driver.KubernetesCompute.open({
      kubeconfig: settings.kubeconfig,
      context: settings.kubernetesContext,
      installation: namespace,
      namespace,
      perAccount: settings.kubernetesNamespaces === "account",
      dial: kubernetesDial === "auto" ? (isInside ? "address" : "forward") : kubernetesDial,
      server: (settings.kubernetesServer ?? []).map(peerOf),
      serverPorts: [portOf(workerUrl), settings.port].filter((port) => port > 0),
      egress: {
        reachable: settings.reachable ?? [],
        doors: await doorsOf(workerUrl),
        nameServers: await nameServersOf(),
      },
      services: settings.kubernetesServices,
      serviceAnnotations: settings.kubernetesServiceAnnotations,
      nodePorts: settings.kubernetesNodePorts,
      cpuShare: settings.kubernetesCpuShare,
      gpuResource: settings.kubernetesGpuResource,
      gpuLabel: settings.kubernetesGpuLabel,
      gpuTypes: gpuTypeIds(),
      volumes: volumesOf(settings, { clock, random }),
      nodeImages: settings.kubernetesImages ?? [],
      plainRegistries: settings.plainRegistries ?? [],
      registries: settings.kubernetesRegistries ?? [],
      namesImage: settings.kubernetesNamesImage,
      runtimeClass: settings.kubernetesRuntimeClass,
      priorityClass: settings.kubernetesPriorityClass,
      clock,
      log,
      ...(failed && { failed }),
    }),
  );
  const given = settings.kubernetesAddress;
  const at = given === undefined ? compute.nodeAddress() : { address: given, isPublic: true };
  const reached = at && { reachedAt: at.address, publicIp: at.isPublic ? at.address : undefined };
  const machine = { id: idOf(namespace), compute, workerUrl: () => workerUrl, runs: ["container"] as const, refusal };
  return { ...machine, site: { ...site, ...reached } };
}

function volumesOf(settings: Settings, parts: Pick<Surroundings, "clock" | "random">): KubernetesOptions["volumes"] {
  const { kubernetesVolumes: source, volumes: folder, kubernetesNamespaces } = settings;
  const { kubernetesStorageClass: storageClass, kubernetesSharedClass: sharedClass } = settings;
  const hasClass = storageClass !== undefined || sharedClass !== undefined;
  if (hasClass && (source !== undefined || folder !== undefined))
    throw new Error(
      "set either storage classes, for a claim for each volume, or MILLRACE_KUBERNETES_VOLUMES with MILLRACE_VOLUMES, for folders of one storage",
    );
  if (hasClass && kubernetesNamespaces === "account")
    throw new Error(
      "a claim for each volume needs MILLRACE_KUBERNETES_NAMESPACES=one: claims are in the namespace of the installation",
    );
  if ((source === undefined) !== (folder === undefined))
    throw new Error(
      "volumes on Kubernetes need both MILLRACE_KUBERNETES_VOLUMES and MILLRACE_VOLUMES: the same storage, as Pods and as the server see it",
    );
  if (hasClass) return { storageClass, sharedClass };
  return source && { source, folders: new VolumeFolders({ folder: join(folder!), ...parts }) };
}

const portOf = (url: string) => {
  const { port, protocol } = new URL(url);
  return Number(port) || (protocol === "https:" ? 443 : 80);
};

/** What `millrace check` looks at in the cluster of these settings. */
export async function openClusterChecks(
  settings: Settings,
  clock: Clock,
): Promise<Disposable & { checks: readonly Check[] }> {
  const { KubeApi } = await import("../adapters/kubernetes/kube-api.ts");
  const { clusterChecks } = await import("../adapters/kubernetes/cluster-checks.ts");
  const { kubeconfig, kubernetesContext: context, kubernetesNamespace: namespace, workerUrl } = settings;
  const api = new KubeApi({ kubeconfig, context, clock });
  const checks = clusterChecks({
    ...{ api, clock, namespace, workerUrl },
    perAccount: settings.kubernetesNamespaces === "account",
    gpuResource: settings.kubernetesGpuResource,
    gpuLabel: settings.kubernetesGpuLabel,
    gpuTypes: gpuTypeIds(),
    volumes: settings.kubernetesVolumes,
    classes: [settings.kubernetesStorageClass, settings.kubernetesSharedClass].filter((name) => name !== undefined),
    runtimeClass: settings.kubernetesRuntimeClass,
    priorityClass: settings.kubernetesPriorityClass,
  });
  return { checks, [Symbol.dispose]: () => api[Symbol.dispose]() };
}

/** An address range, a namespace of the server's Pods, or those of its Pods that have a label: `NAMESPACE:LABEL=VALUE`. */
function peerOf(text: string): Peer {
  const [address, bits] = text.split("/");
  if (isIP(address!) !== 0) return { ipBlock: { cidr: `${address}/${bits ?? (isIP(address!) === 4 ? 32 : 128)}` } };
  const [, namespace = "", name, value = ""] = /^([^:]*)(?::([^=]+)=(.*))?$/.exec(text) ?? [];
  const there = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } };
  return name === undefined ? there : { ...there, podSelector: { matchLabels: { [name]: value } } };
}
