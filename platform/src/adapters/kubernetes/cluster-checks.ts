/** What `millrace check` looks at in a cluster, one check each. Nothing is changed there: the trial of a Pod is a dry run. */
import type { Clock } from "../../kernel/clock.ts";
import { type Check, type Finding, fail, ok, warn } from "../../kernel/finding.ts";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import { isForbidden, isNotFound, type KubeApi, KubeRefused } from "./kube-api.ts";
import { KubeCapacity } from "./kube-capacity.ts";
import { isReady, type KubeList, type KubeObject, type Node, type Pod, quantity } from "./kube-objects.ts";
import { type PodPlace, podManifest } from "./manifest.ts";
import { type Right, rightsFor } from "./rights.ts";

export interface ClusterChecksParts {
  api: KubeApi;
  clock: Clock;
  namespace: string;
  perAccount: boolean;
  workerUrl: string | undefined;
  gpuResource: string;
  gpuLabel: string;
  gpuTypes: readonly string[];
  /** How Pods mount volumes, as in their manifest. */
  volumes: Record<string, unknown> | undefined;
  /** The storage classes of which claims are made. */
  classes: readonly string[];
  runtimeClass: string | undefined;
  priorityClass: string | undefined;
}

const OLDEST = [1, 30] as const;
const GUIDE = "docs/kubernetes.md";

export function clusterChecks(parts: ClusterChecksParts): Check[] {
  return [
    { name: "cluster", look: () => cluster(parts) },
    { name: "worker URL", look: async () => workerUrl(parts) },
    { name: "namespace", look: () => namespaceOf(parts) },
    { name: "rights", look: () => rights(parts, false) },
    { name: "further rights", look: () => rights(parts, true) },
    { name: "nodes", look: () => nodes(parts) },
    { name: "GPUs", look: () => gpus(parts) },
    { name: "volumes", look: () => volumes(parts) },
    { name: "metrics", look: () => metrics(parts) },
    { name: "network policies", look: () => networkPolicies(parts) },
    { name: "a Pod", look: () => trial(parts) },
  ];
}

async function cluster({ api }: ClusterChecksParts): Promise<Finding> {
  try {
    const { major, minor, gitVersion } = await api.call<Record<string, string>>("GET", "/version");
    const [older, needed] = [Number(major) * 1000 + Number.parseInt(minor!, 10), OLDEST[0] * 1000 + OLDEST[1]];
    if (older < needed)
      return fail(`Kubernetes ${gitVersion} is too old`, `Upgrade the cluster to ${OLDEST.join(".")} or newer.`);
    return ok(`Kubernetes ${gitVersion}`);
  } catch (error) {
    return fail(
      (error as Error).message,
      "Name a kubeconfig by --kubeconfig or MILLRACE_KUBECONFIG, or run this inside the cluster with a service account.",
    );
  }
}

const workerUrl = ({ workerUrl: url }: ClusterChecksParts): Finding =>
  url === undefined
    ? fail(
        "MILLRACE_WORKER_URL is not set",
        "Set it to the URL at which Pods reach the server, such as http://millrace.millrace-system.svc:7420.",
      )
    : ok(`Pods call ${url}`);

interface Namespace extends KubeObject {
  status?: { phase?: string };
}

async function namespaceOf(parts: ClusterChecksParts): Promise<Finding> {
  const { api, namespace, perAccount } = parts;
  if (perAccount) return ok(`one for each account, named ${namespace}-…`);
  const found = await api.call<Namespace>("GET", `/api/v1/namespaces/${namespace}`).catch((error) => {
    if (isForbidden(error) || isNotFound(error)) return error as KubeRefused;
    throw error;
  });
  const make = `Make it: kubectl create namespace ${namespace}`;
  if (!(found instanceof KubeRefused)) {
    if (found.status?.phase === "Terminating")
      return fail(`${namespace} is being deleted`, "Wait until it is gone, then make it again.");
    return ok(namespace);
  }
  if (isForbidden(found)) return ok(`${namespace}; this account may not look whether it is there`);
  const mayMake = await may(parts, { group: "", resource: "namespaces", verb: "create" });
  return mayMake ? ok(`${namespace} is not there yet; the server makes it`) : fail(`${namespace} is not there`, make);
}

interface Asked {
  group: string;
  resource: string;
  verb: string;
  namespace?: string | undefined;
}

/** Asks the cluster whether this account may do something. Every account may ask that. */
async function may({ api }: ClusterChecksParts, { group, resource: whole, verb, namespace }: Asked): Promise<boolean> {
  const [resource, subresource] = whole.split("/");
  const attributes = { group, resource, verb, ...(subresource && { subresource }), ...(namespace && { namespace }) };
  const { status } = await api.call<{ status: { allowed: boolean } }>(
    "POST",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    {
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
    },
  );
  return status.allowed;
}

const nameOf = ({ group, resource }: Right) => (group === "" ? resource : `${resource}.${group}`);

async function rights(parts: ClusterChecksParts, isFurther: boolean): Promise<Finding> {
  const { perAccount } = parts;
  const asked = rightsFor({ perAccount, nodeUsage: true, claims: parts.classes.length > 0 }).filter(
    ({ without }) => (without !== undefined) === isFurther,
  );
  const looked = await Promise.all(
    asked.flatMap((right) =>
      Object.keys(right.verbs).map(async (verb) => {
        const namespace = right.where === "instances" ? parts.namespace : undefined;
        return { right, verb, isAllowed: await may(parts, { ...right, verb, namespace }) };
      }),
    ),
  );
  const missing = looked.filter(({ isAllowed }) => !isAllowed);
  if (missing.length === 0) return ok(`all ${looked.length} are there`);
  const words = [...Map.groupBy(missing, ({ right }) => right)].map(([right, verbs]) => {
    const where = right.where === "cluster" ? "the cluster" : parts.namespace;
    return `${verbs.map(({ verb }) => verb).join(", ")} of ${nameOf(right)} in ${where}`;
  });
  if (!isFurther)
    return fail(`missing: ${words.join("; ")}`, `Give them to this account: ${GUIDE}#rights has the YAML.`);
  const lost = [...new Set(missing.map(({ right }) => right.without))].join("; ");
  const careful = missing.some(({ right }) => right.only === "node-usage")
    ? " Read there first what nodes/proxy also allows."
    : "";
  return warn(`missing: ${words.join("; ")}. So ${lost}`, `Give them if you want that: ${GUIDE}#rights.${careful}`);
}

const listNodes = async ({ api }: ClusterChecksParts) => (await api.call<KubeList<Node>>("GET", "/api/v1/nodes")).items;

async function nodes(parts: ClusterChecksParts): Promise<Finding> {
  const all = await listNodes(parts);
  const usable = capacityOf(parts, all).usable();
  const says = `${usable.length} of ${all.length} take instances`;
  if (usable.length > 0) return ok(says);
  const why = all.map((node) => `${node.metadata.name} ${whyNot(node)}`).join(", ");
  return fail(`${says}: ${why || "there is none"}`, "Add nodes, or uncordon them: kubectl uncordon NODE");
}

function whyNot(node: Node): string {
  if (!isReady(node)) return "is not ready";
  if (node.spec.unschedulable) return "is cordoned";
  return `has the taint ${node.spec.taints?.map(({ key }) => key).join(", ")}`;
}

const capacityOf = (parts: ClusterChecksParts, all: Node[]) =>
  new KubeCapacity({
    ...parts,
    installation: parts.namespace,
    cpuShare: 1,
    nodes: () => all,
    pods: () => [],
    warn: () => {},
  });

async function gpus(parts: ClusterChecksParts): Promise<Finding> {
  const { gpuResource, gpuLabel } = parts;
  const all = await listNodes(parts);
  const having = all.filter(({ status }) => quantity(status.allocatable?.[gpuResource]) > 0);
  const capacity = capacityOf(parts, all);
  if (having.length === 0)
    return warn(
      `no node offers ${gpuResource}: only CPU work runs here`,
      "Install NVIDIA's GPU operator, or name another resource by MILLRACE_KUBERNETES_GPU_RESOURCE.",
    );
  const unlabelled = having.filter(({ metadata }) => metadata.labels?.[gpuLabel] === undefined);
  if (unlabelled.length > 0)
    return fail(
      `${unlabelled.map(({ metadata }) => metadata.name).join(", ")}: GPUs without the label ${gpuLabel}, which are not offered`,
      "Install GPU feature discovery (a part of NVIDIA's GPU operator), or name another label by MILLRACE_KUBERNETES_GPU_LABEL.",
    );
  const product = (node: Node) => node.metadata.labels![gpuLabel]!;
  const unknown = new Set(having.filter((node) => capacity.typeOf(node) === undefined).map(product));
  if (unknown.size > 0)
    return warn(
      `${[...unknown].join(", ")}: products that the catalog does not have, and which are not offered`,
      "Add them to your catalog file: docs/catalog.md.",
    );
  const counts = having.map((node) => `${quantity(node.status.allocatable?.[gpuResource])}x ${product(node)}`);
  return ok(counts.join(", "));
}

interface Claim extends KubeObject {
  spec: { accessModes?: string[] };
  status?: { phase?: string };
}

async function volumes(parts: ClusterChecksParts): Promise<Finding> {
  const { api, namespace, perAccount, volumes: source } = parts;
  const claim = (source?.persistentVolumeClaim as { claimName: string } | undefined)?.claimName;
  if (parts.classes.length > 0) return ofClasses(parts);
  if (!source) return warn(`Pods with volumes are refused: no storage is set${listed(await classesOf(parts))}`, SHARED);
  if (claim === undefined) return ok(`Pods mount ${JSON.stringify(source)}`);
  if (perAccount)
    return fail(
      `the claim ${claim} is in one namespace, and each account has its own`,
      "Set MILLRACE_KUBERNETES_VOLUMES=nfs://SERVER/PATH.",
    );
  const path = `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claim}`;
  const found = await api.call<Claim>("GET", path).catch((error) => {
    if (isForbidden(error) || isNotFound(error)) return error as KubeRefused;
    throw error;
  });
  if (found instanceof KubeRefused)
    return isForbidden(found)
      ? ok(`the claim ${claim}; this account may not look at it`)
      : fail(`there is no claim ${claim} in ${namespace}`, SHARED);
  if (!found.spec.accessModes?.includes("ReadWriteMany"))
    return fail(`the claim ${claim} can be mounted by one node only (${found.spec.accessModes})`, SHARED);
  if (found.status?.phase !== "Bound")
    return fail(
      `the claim ${claim} is ${found.status?.phase}`,
      `See why: kubectl -n ${namespace} describe pvc ${claim}`,
    );
  return ok(`the claim ${claim}`);
}

const SHARED =
  "Name storage classes by MILLRACE_KUBERNETES_STORAGE_CLASS and MILLRACE_KUBERNETES_SHARED_CLASS. The shared one must support ReadWriteMany, such as NFS, CephFS, EFS, Filestore or Azure Files.";

interface StorageClass extends KubeObject {
  provisioner: string;
}

/** Undefined if this account may not list them. Kubernetes does not say which access modes a class supports, so they are only named. */
async function classesOf({ api }: ClusterChecksParts): Promise<StorageClass[] | undefined> {
  try {
    return (await api.call<KubeList<StorageClass>>("GET", "/apis/storage.k8s.io/v1/storageclasses")).items;
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

function listed(classes: readonly StorageClass[] | undefined): string {
  if (classes === undefined) return "; this account may not list storage classes";
  if (classes.length === 0) return "; the cluster has no storage class";
  return `; storage classes: ${classes.map(({ metadata, provisioner }) => `${metadata.name} (${provisioner})`).join(", ")}`;
}

async function ofClasses(parts: ClusterChecksParts): Promise<Finding> {
  const found = await classesOf(parts);
  const names = parts.classes.join(" and ");
  if (found === undefined) return ok(`claims of ${names}; this account may not look at storage classes`);
  const missing = parts.classes.filter((name) => !found.some(({ metadata }) => metadata.name === name));
  if (missing.length > 0) return fail(`there is no storage class ${missing.join(" and ")}${listed(found)}`, SHARED);
  return ok(`claims of ${names}`);
}

async function metrics({ api }: ClusterChecksParts): Promise<Finding> {
  try {
    await api.call("GET", "/apis/metrics.k8s.io/v1beta1");
    return ok("the metrics API is there");
  } catch (error) {
    if (!(error instanceof KubeRefused)) throw error;
    return warn(
      `there is no metrics API (${error.status}): the memory that instances use is not shown without nodes/proxy`,
      "Install metrics-server: https://github.com/kubernetes-sigs/metrics-server",
    );
  }
}

/** Network plugins by a part of the names of their Pods. */
const ENFORCING = ["calico", "cilium", "kube-router", "antrea", "ovnkube", "weave-net", "azure-npm", "canal", "romana"];
const NOT_ENFORCING = ["flannel", "kindnet"];

/** Kubernetes stores network policies whether or not anything enforces them, so the plugins are looked for. */
async function networkPolicies({ api }: ClusterChecksParts): Promise<Finding> {
  const pods = await api.call<KubeList<Pod>>("GET", "/api/v1/pods", { query: { limit: 500 } }).catch((error) => {
    if (!isForbidden(error)) throw error;
    return undefined;
  });
  const has = (names: readonly string[]) =>
    names.find((name) => pods?.items.some(({ metadata }) => metadata.name.includes(name)));
  const enforcing = has(ENFORCING);
  if (enforcing !== undefined) return ok(`${enforcing} enforces them`);
  const other = has(NOT_ENFORCING);
  const mend = "Use a network plugin that enforces them, such as Calico, Cilium or kube-router.";
  if (other !== undefined) return fail(`${other} does not enforce them: every instance reaches every other`, mend);
  return warn(
    pods
      ? "no known network plugin was found, so nobody knows whether they are enforced"
      : "this account may not look for network plugins",
    `${mend} Try it: an instance must not reach the address of another.`,
  );
}

const TRIAL: InstanceSpec = {
  account: "check",
  owner: "check",
  kind: "worker",
  image: "docker.io/library/busybox:1.37",
  entrypoint: [],
  cmd: [],
  env: {},
  ports: [],
  limits: { vcpu: 0.1, memoryMb: 64, diskGb: 1 },
};

/** Finds what refuses Pods at their creation: quotas, Pod security, admission webhooks, missing classes. */
async function trial(parts: ClusterChecksParts): Promise<Finding> {
  const { api, namespace, perAccount, gpuResource, gpuLabel, runtimeClass, priorityClass } = parts;
  if (perAccount) return ok("not tried, since each account has a namespace of its own");
  const place: PodPlace = {
    ...{
      installation: namespace,
      namespace,
      cpuShare: 1,
      gpuResource,
      gpuLabel,
      gpuProducts: [],
      published: [],
      volumes: [],
    },
    ...{ fellows: [], namesImage: TRIAL.image, isOperators: false, lostS: 30, runtimeClass, priorityClass },
  };
  const body = podManifest("check", TRIAL, place);
  try {
    await api.call("POST", `/api/v1/namespaces/${namespace}/pods`, { body, query: { dryRun: "All" } });
    return ok(`${namespace} takes one (a dry run)`);
  } catch (error) {
    if (!(error instanceof KubeRefused)) throw error;
    return fail(`${namespace} refuses one: ${error.message}`, mendOf(error));
  }
}

function mendOf({ status, message }: KubeRefused): string {
  if (/exceeded quota|must specify/.test(message)) return "Raise or remove the quota of the namespace.";
  if (/PodSecurity/.test(message))
    return "Label the namespace: pod-security.kubernetes.io/enforce=baseline. Images run as the user that they name, often root.";
  if (/RuntimeClass/i.test(message)) return "Make that runtime class, or change MILLRACE_KUBERNETES_RUNTIME_CLASS.";
  if (/PriorityClass/i.test(message)) return "Make that priority class, or change MILLRACE_KUBERNETES_PRIORITY_CLASS.";
  if (status === 404) return "Make the namespace.";
  return "Change what refuses it: an admission policy or webhook of the cluster, or the account's rights.";
}
