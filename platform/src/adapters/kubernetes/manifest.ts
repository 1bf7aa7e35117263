/** Translates an instance into the Kubernetes objects that make it: a Pod, Secrets, and a Service for its published ports. */
import type { InstanceSpec, RegistryCredential } from "../../ports/compute/compute.ts";
import { groupKey } from "../../ports/compute/groups.ts";
import { parseReference } from "../../ports/compute/image-reference.ts";
import type { Published } from "../../ports/compute/publish.ts";
import { FINALIZER, hashOf, label, MAIN, NAMES, note, podName } from "./kube-objects.ts";
import type { PodVolume } from "./kube-volumes.ts";

/** What the cluster and the operator give to each instance. */
export interface PodPlace {
  installation: string;
  namespace: string;
  /** The share of its processors that an instance is promised. It may use all of them while they are free. */
  cpuShare: number;
  /** The resource name of GPUs, and the label with their product. */
  gpuResource: string;
  gpuLabel: string;
  /** Labels' values that mean the wanted type. */
  gpuProducts: readonly string[];
  /** Its volumes, in the order of its mounts. */
  volumes: readonly PodVolume[];
  published: readonly Published[];
  /** The members of its group that run now. */
  fellows: readonly { address: string; names: readonly string[] }[];
  namesImage: string;
  /** The operator's images are on the nodes, and are fetched from nowhere. */
  isOperators: boolean;
  /** Seconds after which a Pod on a lost node is given up. */
  lostS: number;
  runtimeClass?: string | undefined;
  priorityClass?: string | undefined;
}

/** The longest that a program may take to end after it was asked to. A stop with less grace ends it sooner. */
const GRACE_S = 60;
/** As the Docker driver: raw sockets could forge packets, and no program needs to make device nodes. */
const DROPPED_CAPABILITIES = ["NET_RAW", "MKNOD"];
/** The group of what is on a claim, so that programs of any user can write there. */
const CLAIM_GROUP = 10_001;
const MEMORY = "shared-memory";

export function podManifest(id: string, spec: InstanceSpec, place: PodPlace) {
  const { account, group, gpu, limits } = spec;
  const name = podName(id);
  const { volumes } = place;
  const shared = Math.max(1, Math.floor(limits.memoryMb / 2));
  const gpus = gpu && { [place.gpuResource]: String(gpu.count) };
  const memory = { memory: `${limits.memoryMb}Mi`, "ephemeral-storage": `${Math.ceil(limits.diskGb * 1024)}Mi` };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: place.namespace,
      finalizers: [FINALIZER],
      labels: {
        [label.installation]: place.installation,
        [label.instance]: id,
        [label.kind]: spec.kind,
        [label.account]: hashOf(account),
        ...(group && { [label.group]: groupLabel(account, group.id) }),
      },
      annotations: notesOf(spec, place),
    },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: GRACE_S,
      // A first process that reaps children. Without it, a program without handlers would ignore the request to end.
      shareProcessNamespace: true,
      ...(group?.isReserved
        ? { hostname: group.name, subdomain: networkName(groupLabel(account, group.id)) }
        : { hostname: name.slice(0, 63) }),
      securityContext: {
        seccompProfile: { type: "RuntimeDefault" },
        ...(volumes.some(({ subPath }) => subPath === undefined) && {
          fsGroup: CLAIM_GROUP,
          fsGroupChangePolicy: "OnRootMismatch",
        }),
      },
      ...(place.runtimeClass !== undefined && { runtimeClassName: place.runtimeClass }),
      ...(place.priorityClass !== undefined && { priorityClassName: place.priorityClass }),
      ...affinityOf(spec, place),
      tolerations: tolerationsOf(spec, place),
      ...(spec.credential && { imagePullSecrets: [{ name: `${name}-pull` }] }),
      ...(place.fellows.length > 0 && {
        hostAliases: place.fellows.map(({ address, names }) => ({ ip: address, hostnames: names })),
      }),
      ...(group && { initContainers: [namesContainer(place)] }),
      containers: [
        {
          name: MAIN,
          image: spec.image,
          imagePullPolicy: place.isOperators ? "Never" : "IfNotPresent",
          ...(spec.entrypoint.length > 0 && { command: spec.entrypoint.map(literal) }),
          ...(spec.cmd.length > 0 && { args: spec.cmd.map(literal) }),
          envFrom: [{ secretRef: { name } }],
          ...ownAddress(spec),
          resources: {
            limits: { cpu: milli(limits.vcpu), ...memory, ...gpus },
            requests: { cpu: milli(limits.vcpu * place.cpuShare), ...memory, ...gpus },
          },
          securityContext: {
            privileged: false,
            allowPrivilegeEscalation: false,
            capabilities: { drop: DROPPED_CAPABILITIES },
          },
          volumeMounts: [
            { name: MEMORY, mountPath: "/dev/shm" },
            ...volumes.map(({ name, path, subPath, readOnly = false }) => ({
              name,
              mountPath: path,
              ...(subPath !== undefined && { subPath }),
              ...(readOnly && { readOnly }),
            })),
          ],
        },
      ],
      volumes: [
        { name: MEMORY, emptyDir: { medium: "Memory", sizeLimit: `${shared}Mi` } },
        ...new Map(volumes.map(({ name, source }) => [name, { name, ...source }])).values(),
      ],
    },
  };
}

export const groupLabel = (account: string, id: string) => groupKey(account, { id }).slice(0, 32);

function notesOf({ owner, ports, mounts = [], gpu, box, group, limits }: InstanceSpec, { published }: PodPlace) {
  return {
    [note.owner]: owner,
    [note.ports]: ports.join(","),
    [note.volumes]: [...new Set(mounts.map(({ volume }) => volume))].join(","),
    [note.memoryMb]: String(limits.memoryMb),
    ...(gpu && { [note.gpu]: `${gpu.count}x ${gpu.type}` }),
    ...(box !== undefined && { [note.box]: box }),
    ...(published.length > 0 && { [note.published]: JSON.stringify(published) }),
    ...(group && {
      [note.groupName]: group.name,
      [note.groupFullNames]: (group.fullNames ?? []).join(","),
      ...(group.isReserved && { [note.groupReserved]: group.id }),
    }),
  };
}

/** The name of a member that is the same before, while and after it runs. */
export const memberHost = (key: string, name: string) => `${name}.${key.slice(0, 16)}.millrace.internal`;

/** The Service that gives the members of a reserved network names in the cluster's DNS. */
export const networkName = (key: string) => `millrace-group-${key}`;

/**
 * A member's own address is known to its node when the program begins, and its own name is not yet in its hosts file. So the variables
 * that would name the member itself hold its address, as on other drivers.
 */
function ownAddress({ account, group, env }: InstanceSpec) {
  if (!group?.isReserved) return {};
  const host = memberHost(groupLabel(account, group.id), group.name);
  const exact = Object.keys(env).filter((name) => env[name] === host);
  const [first] = exact;
  if (first === undefined) return {};
  const within = Object.entries(env).filter(([, value]) => value.startsWith(`${host}:`));
  return {
    env: [
      ...exact.map((name) => ({ name, valueFrom: { fieldRef: { fieldPath: "status.podIP" } } })),
      ...within.map(([name, value]) => ({ name, value: `$(${first})${literal(value.slice(host.length))}` })),
    ],
  };
}

/** Kubernetes replaces `$(NAME)` in commands and variables. Doubled dollars keep the text as it is. */
const literal = (word: string) => word.replaceAll("$", "$$$$");

const milli = (vcpu: number) => `${Math.max(1, Math.round(vcpu * 1000))}m`;

function affinityOf({ box, gpu }: InstanceSpec, { gpuLabel, gpuProducts }: PodPlace) {
  const fields = box === undefined ? [] : [{ key: "metadata.name", operator: "In", values: [box] }];
  const expressions = gpu ? [{ key: gpuLabel, operator: "In", values: gpuProducts }] : [];
  if (fields.length + expressions.length === 0) return {};
  const term = {
    ...(fields.length > 0 && { matchFields: fields }),
    ...(expressions.length > 0 && { matchExpressions: expressions }),
  };
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
    },
  };
}

const tolerationsOf = ({ gpu }: InstanceSpec, { gpuResource, lostS }: PodPlace) => [
  ...["not-ready", "unreachable"].map((state) => ({
    key: `node.kubernetes.io/${state}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: lostS,
  })),
  // Nodes with GPUs are often kept free of other Pods by this taint.
  ...(gpu ? [{ key: gpuResource, operator: "Exists", effect: "NoSchedule" }] : []),
];

/** It begins before the program and ends after it. The driver runs a command in it when the members of the group change. */
const namesContainer = ({ namesImage }: PodPlace) => ({
  name: NAMES,
  image: namesImage,
  imagePullPolicy: "IfNotPresent",
  restartPolicy: "Always",
  command: ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"],
  // The program begins a moment after the Pod has its address, so that the network plugins of the other nodes let it through by then.
  startupProbe: { exec: { command: ["/bin/sh", "-c", "exit 0"] }, initialDelaySeconds: 2, periodSeconds: 1 },
  // It asks for nothing: a member may have been given all that its node has left.
  resources: { limits: { cpu: "100m", memory: "16Mi" }, requests: { cpu: "0", memory: "0" } },
  securityContext: {
    runAsUser: 0,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
});

/** The labels of what belongs to an instance beside its Pod. */
const partLabels = (id: string, installation: string) => ({ [label.installation]: installation, [label.part]: id });

export const environmentSecret = (id: string, { env }: InstanceSpec, { installation, namespace }: PodPlace) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: podName(id), namespace, labels: partLabels(id, installation) },
  immutable: true,
  data: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, base64(value)])),
});

export function pullSecret(
  id: string,
  { image }: InstanceSpec,
  { username, password }: RegistryCredential,
  { installation, namespace }: PodPlace,
) {
  const registry = parseReference(image).repository.split("/")[0]!;
  const server = registry === "docker.io" ? "https://index.docker.io/v1/" : registry;
  const auths = { [server]: { username, password, auth: base64(`${username}:${password}`) } };
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `${podName(id)}-pull`, namespace, labels: partLabels(id, installation) },
    type: "kubernetes.io/dockerconfigjson",
    immutable: true,
    data: { ".dockerconfigjson": base64(JSON.stringify({ auths })) },
  };
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

export interface ServiceTerms {
  type: "NodePort" | "LoadBalancer";
  annotations?: Readonly<Record<string, string>> | undefined;
}

export const portsService = (
  id: string,
  publish: readonly { port: number; outside?: number }[],
  { installation, namespace }: Pick<PodPlace, "installation" | "namespace">,
  { type, annotations = {} }: ServiceTerms,
) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: podName(id), namespace, labels: partLabels(id, installation), annotations },
  spec: {
    type,
    externalTrafficPolicy: "Cluster",
    selector: { [label.installation]: installation, [label.instance]: id },
    ports: publish.map(({ port, outside }) => ({
      name: `p${port}`,
      protocol: "TCP",
      // A load balancer has the same port as the nodes, so one address of it serves many instances.
      port: type === "LoadBalancer" ? (outside ?? port) : port,
      targetPort: port,
      ...(outside !== undefined && { nodePort: outside }),
    })),
  },
});

/** Has no address of its own: the cluster's DNS answers with those of the members, also of members that have just begun. */
export const networkService = (
  key: string,
  { installation, namespace }: Pick<PodPlace, "installation" | "namespace">,
) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: {
    name: networkName(key),
    namespace,
    labels: { [label.installation]: installation, [label.group]: key },
  },
  spec: {
    clusterIP: "None",
    publishNotReadyAddresses: true,
    selector: { [label.installation]: installation, [label.group]: key },
  },
});
