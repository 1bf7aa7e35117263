/** The rights that the driver uses in a cluster, with the reason for each. The chart, the documents and `millrace check` follow this table. */

type Verb = "get" | "list" | "watch" | "create" | "patch" | "delete";

export interface Right {
  /** The API group. The core group has no name. */
  group: string;
  /** Such as `pods`, or `pods/exec` for a part of them. */
  resource: string;
  /** In the namespace of the instances, or in the whole cluster. */
  where: "instances" | "cluster";
  /** What each verb is for. */
  verbs: Partial<Record<Verb, string>>;
  /** What is missing without it. The driver needs a right that does not have this. */
  without?: string;
  /** Set if only some installations use it. */
  only?: "account-namespaces" | "node-usage" | "claims";
}

const WEBSOCKET = "opens the connection: a WebSocket is a GET, which newer versions also check as a creation";
const SWEEP = "finds what a killed server left half made";
const OWN = "makes it belong to its Pod, so that it goes with it";

export const RIGHTS: readonly Right[] = [
  {
    group: "",
    resource: "pods",
    where: "instances",
    verbs: {
      get: "finds a Pod that another server has just made",
      list: "knows all instances after a start, and after a gap in the watch",
      watch: "hears at once that an instance began or ended",
      create: "starts an instance",
      patch: "stops an instance gently, notes why it never began, and lets go of it after its end was seen",
      delete: "ends an instance that does not stop, and removes ended ones",
    },
  },
  { group: "", resource: "pods/log", where: "instances", verbs: { get: "reads what programs print" } },
  {
    group: "",
    resource: "pods/exec",
    where: "instances",
    verbs: { get: `terminals, SSH and names of cluster members: ${WEBSOCKET}`, create: "the same, in newer versions" },
  },
  {
    group: "",
    resource: "pods/portforward",
    where: "instances",
    verbs: {
      get: `ports on the loopback of a Pod, and all ports for a server outside the cluster: ${WEBSOCKET}`,
      create: "the same, in newer versions",
    },
  },
  {
    group: "",
    resource: "secrets",
    where: "instances",
    verbs: {
      list: SWEEP,
      create: "the environment of an instance, and its registry credential",
      patch: OWN,
      delete: "removes it with the instance",
    },
  },
  {
    group: "",
    resource: "services",
    where: "instances",
    verbs: {
      list: SWEEP,
      create: "publishes TCP ports, and names the members of a cluster",
      patch: OWN,
      delete: "frees the ports of an ended instance, and the names",
    },
  },
  {
    group: "",
    resource: "configmaps",
    where: "instances",
    verbs: {
      get: "reads the reserved names of a cluster",
      list: "finds reserved names that nobody uses any more",
      create: "reserves the names of a cluster",
      delete: "releases them",
    },
  },
  {
    group: "networking.k8s.io",
    resource: "networkpolicies",
    where: "instances",
    verbs: {
      create: "keeps instances apart, and lets members of a cluster reach each other",
      patch: "brings the policy of all instances up to date after a change of settings",
      delete: "removes the policy of a cluster or of published ports",
    },
  },
  {
    group: "",
    resource: "persistentvolumeclaims",
    where: "instances",
    verbs: {
      list: "knows all volumes and their sizes",
      create: "makes a volume",
      patch: "lets a volume grow, and marks one that is being removed",
      delete: "removes a volume",
    },
    only: "claims",
  },
  {
    group: "",
    resource: "events",
    where: "instances",
    verbs: { list: "says why a Pod does not begin", watch: "hears it at once" },
  },
  {
    group: "metrics.k8s.io",
    resource: "pods",
    where: "instances",
    verbs: { get: "reads how much memory an instance uses" },
    without: "the memory that instances use is not shown, unless nodes/proxy may be read",
  },
  {
    group: "",
    resource: "nodes",
    where: "cluster",
    verbs: { list: "knows GPUs and free room", watch: "hears at once that a node is lost" },
  },
  {
    group: "",
    resource: "pods",
    where: "cluster",
    verbs: { list: "subtracts what Pods of others request from the room of each node" },
    without: "what others use is not counted, so instances may wait for room that looked free",
  },
  {
    group: "",
    resource: "nodes/proxy",
    where: "cluster",
    verbs: { get: "reads processor time and disk usage from the nodes" },
    without: "processor time and disk usage are not shown",
    only: "node-usage",
  },
  {
    group: "",
    resource: "namespaces",
    where: "cluster",
    verbs: { get: "looks whether the namespace of an account is there", create: "makes it" },
    only: "account-namespaces",
  },
];

export interface RightsOf {
  /** Each account has a namespace of its own. Kubernetes cannot limit rights to namespaces that will be made, so all of them are for the cluster. */
  perAccount: boolean;
  /** The right to read `nodes/proxy`, which also lets its holder run programs in every Pod of the cluster. */
  nodeUsage: boolean;
  /** Volumes are claims of storage classes. */
  claims: boolean;
}

export function rightsFor({ perAccount, nodeUsage, claims }: RightsOf): Right[] {
  const has = { "account-namespaces": perAccount, "node-usage": nodeUsage, claims };
  return RIGHTS.filter(({ only }) => only === undefined || has[only]).map((right) =>
    perAccount ? { ...right, where: "cluster" as const } : right,
  );
}

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/** The rules of a Role for the instances' namespace and of a ClusterRole. */
export function rulesFor(which: RightsOf): Record<Right["where"], Rule[]> {
  const rules = { instances: new Map<string, Rule>(), cluster: new Map<string, Rule>() };
  for (const { group, resource, where, verbs } of rightsFor(which)) {
    const known = rules[where].get(`${group}/${resource}`)?.verbs ?? [];
    const all = [...new Set([...known, ...Object.keys(verbs)])];
    rules[where].set(`${group}/${resource}`, { apiGroups: [group], resources: [resource], verbs: all });
  }
  return { instances: [...rules.instances.values()], cluster: [...rules.cluster.values()] };
}
