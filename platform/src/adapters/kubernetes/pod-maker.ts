/** Makes the Pod of an instance, with everything that belongs to it. */
import type { Instance, InstanceSpec, Mount } from "../../ports/compute/compute.ts";
import { StartRefused } from "../../ports/compute/compute.ts";
import { isReference } from "../../ports/compute/image-reference.ts";
import { checkPublish, PortTaken, type Published } from "../../ports/compute/publish.ts";
import { checkMounts } from "../../ports/compute/volumes.ts";
import { isConflict, type KubeApi, KubeAway, KubeRefused, unlessNotFound } from "./kube-api.ts";
import type { KubeCapacity } from "./kube-capacity.ts";
import type { KubeGroups } from "./kube-groups.ts";
import { type KubeList, label, type Pod, podName, type Service } from "./kube-objects.ts";
import type { KubeVolumes } from "./kube-volumes.ts";
import { type KubernetesOptions, NAMES_IMAGE, NODE_PORTS } from "./kubernetes-options.ts";
import { environmentSecret, type PodPlace, podManifest, portsService, pullSecret } from "./manifest.ts";
import type { Places } from "./places.ts";
import type { PodEnd } from "./pod-end.ts";
import { publishedPolicy } from "./policies.ts";

export interface MakerParts {
  options: KubernetesOptions & {
    gpuResource: string;
    gpuLabel: string;
    cpuShare: number;
    isOperators: (image: string) => boolean;
  };
  api: KubeApi;
  capacity: KubeCapacity;
  groups: KubeGroups;
  places: Places;
  storage?: KubeVolumes | undefined;
  end: PodEnd;
}

export const NO_STORAGE =
  "no storage for volumes is set: MILLRACE_KUBERNETES_VOLUMES names one that all nodes share, or MILLRACE_KUBERNETES_STORAGE_CLASS a class";
const DEFAULT_LOST_S = 30;
const LONGEST_ID = 50;

export class PodMaker {
  readonly #parts: MakerParts;
  readonly #making = new Map<string, { pod: Promise<Pod>; spec: InstanceSpec }>();

  constructor(parts: MakerParts) {
    this.#parts = parts;
  }

  /** Of several calls at once for one id, one makes the Pod. */
  make(id: string, spec: InstanceSpec): Promise<Pod> {
    const known = this.#making.get(id);
    if (known) return known.pod;
    const others = [...this.#making.values()].map((one) => one.spec);
    const pod = this.#make(id, spec, others).finally(() => this.#making.delete(id));
    this.#making.set(id, { pod, spec });
    return pod;
  }

  /** Resolves when nothing is being made for this instance. */
  async settled(id: string): Promise<void> {
    await this.#making.get(id)?.pod.catch(() => {});
  }

  /** Instances that are being made and mount a volume. */
  mounting(volume: string): Instance["id"][] {
    const mounts = ({ spec }: { spec: InstanceSpec }) =>
      (spec.mounts ?? []).some((mount: Mount) => mount.volume === volume);
    return [...this.#making].filter(([, one]) => mounts(one)).map(([id]) => id);
  }

  async #make(id: string, spec: InstanceSpec, others: readonly InstanceSpec[]): Promise<Pod> {
    const { capacity, groups, places, storage } = this.#parts;
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(id) || id.length > LONGEST_ID)
      throw new StartRefused(`'${id}' cannot be the name of a Kubernetes Pod`);
    if (!isReference(spec.image))
      throw new StartRefused(`'${spec.image.slice(0, 100)}' is no reference of an image`, { reason: "image-invalid" });
    checkPublish(spec.publish);
    checkMounts(spec.mounts ?? []);
    if (spec.mounts?.length && !storage) throw new StartRefused(NO_STORAGE, { reason: "volume-missing" });
    const volumes = (await storage?.mounted(spec.mounts ?? [])) ?? [];
    await capacity.check(spec, others);
    const namespace = places.of(spec.account);
    try {
      await places.ensure(namespace);
      return await groups.join(id, spec, (fellows) => this.#create(id, spec, { namespace, fellows, volumes }));
    } catch (error) {
      throw refusalFrom(error);
    }
  }

  async #create(
    id: string,
    spec: InstanceSpec,
    where: Pick<PodPlace, "namespace" | "fellows" | "volumes">,
  ): Promise<Pod> {
    const { namespace } = where;
    const { options, capacity, end } = this.#parts;
    const {
      installation,
      cpuShare,
      gpuResource,
      gpuLabel,
      runtimeClass,
      priorityClass,
      lostS = DEFAULT_LOST_S,
    } = options;
    const place: PodPlace = {
      ...{ ...where, installation, cpuShare, gpuResource, gpuLabel, lostS, runtimeClass, priorityClass },
      gpuProducts: spec.gpu ? capacity.productsOf(spec.gpu) : [],
      published: [],
      namesImage: options.namesImage ?? NAMES_IMAGE,
      isOperators: options.isOperators(spec.image),
    };
    try {
      // The Secret and the Service come first, so that the Pod finds them. Should the server end here, a later one removes them.
      await this.#ensure(`/api/v1/namespaces/${namespace}/secrets`, environmentSecret(id, spec, place));
      if (spec.credential)
        await this.#ensure(`/api/v1/namespaces/${namespace}/secrets`, pullSecret(id, spec, spec.credential, place));
      const published = await this.#publish(id, spec, place);
      const body = podManifest(id, spec, { ...place, published });
      const pod = await this.#createPod(namespace, body, id);
      await this.#own(pod, spec);
      return pod;
    } catch (error) {
      if (!(error instanceof KubeAway)) await end.removeParts(namespace, id);
      throw error;
    }
  }

  async #createPod(namespace: string, body: object, id: string): Promise<Pod> {
    const path = `/api/v1/namespaces/${namespace}/pods`;
    try {
      return await this.#parts.api.call<Pod>("POST", path, { body });
    } catch (error) {
      if (!isConflict(error)) throw error;
      const known = await this.#parts.api.call<Pod>("GET", `${path}/${podName(id)}`);
      if (known.metadata.labels?.[label.installation] === this.#parts.options.installation) return known;
      throw new StartRefused(`there is a Pod ${podName(id)} that is not of this installation`);
    }
  }

  /** What an earlier attempt left may have other contents, so it is replaced. */
  async #ensure(path: string, body: { metadata: { name: string } }): Promise<void> {
    const { api } = this.#parts;
    await api.call("POST", path, { body }).catch(async (error) => {
      if (!isConflict(error)) throw error;
      await api.call("DELETE", `${path}/${body.metadata.name}`).catch(unlessNotFound);
      await api.call("POST", path, { body });
    });
  }

  async #publish(id: string, { publish = [] }: InstanceSpec, place: PodPlace): Promise<Published[]> {
    if (publish.length === 0) return [];
    const { api, options } = this.#parts;
    const { namespace } = place;
    const { first, last } = options.nodePorts ?? NODE_PORTS;
    const odd = publish.find(({ outside }) => outside !== undefined && (outside < first || outside > last));
    if (odd) throw new StartRefused(`nothing is published at ${odd.outside} here, only at ${first} to ${last}`);
    const policy = publishedPolicy(
      place,
      id,
      publish.map(({ port }) => port),
    );
    await this.#ensure(`/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`, policy);
    const path = `/api/v1/namespaces/${namespace}/services`;
    const body = portsService(id, publish, place, {
      type: options.services ?? "NodePort",
      annotations: options.serviceAnnotations,
    });
    const made = await api.call<Service>("POST", path, { body }).catch(async (error) => {
      const left = isConflict(error) ? await this.#left(path, id, publish) : undefined;
      if (left) return left;
      throw portRefusal(error, publish) ?? error;
    });
    return made.spec.ports.map(({ port, targetPort, nodePort }) => ({ inside: targetPort, outside: nodePort ?? port }));
  }

  /** The Service that an interrupted start left, or whose answer was lost. It has its ports already. */
  async #left(path: string, id: string, publish: NonNullable<InstanceSpec["publish"]>): Promise<Service | undefined> {
    const { api, options } = this.#parts;
    // No right is needed for this that the driver does not have anyway.
    const query = { labelSelector: `${label.installation}=${options.installation},${label.part}=${id}` };
    const { items } = await api.call<KubeList<Service>>("GET", path, { query });
    return items.find(({ metadata, spec }) => {
      const isGoing = metadata.deletionTimestamp !== undefined;
      const has = ({ port, outside }: (typeof publish)[number]) =>
        spec.ports.some((one) => one.targetPort === port && (outside === undefined || one.nodePort === outside));
      return !isGoing && spec.ports.length === publish.length && publish.every(has);
    });
  }

  /** From now on Kubernetes removes them with the Pod. */
  async #own({ metadata: { name, namespace, uid } }: Pod, { credential, publish = [] }: InstanceSpec): Promise<void> {
    const owner = { apiVersion: "v1", kind: "Pod", name, uid };
    const body = { metadata: { ownerReferences: [owner] } };
    const core = `/api/v1/namespaces/${namespace}`;
    const paths = [
      `${core}/secrets/${name}`,
      ...(credential ? [`${core}/secrets/${name}-pull`] : []),
      ...(publish.length > 0
        ? [`${core}/services/${name}`, `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${name}`]
        : []),
    ];
    // Not being owned is no error: the driver removes them by name as well.
    await Promise.allSettled(paths.map((path) => this.#parts.api.call("PATCH", path, { body })));
  }
}

function portRefusal(error: unknown, publish: NonNullable<InstanceSpec["publish"]>): StartRefused | undefined {
  if (!(error instanceof KubeRefused) || error.status !== 422) return undefined;
  const taken = publish.find(({ outside }) => outside !== undefined && error.message.includes(String(outside)));
  if (taken && /already allocated/.test(error.message)) return new PortTaken(taken.outside!, error);
  if (/failed to allocate|range is full/.test(error.message))
    return new StartRefused("the cluster has no port of its nodes left to publish", {
      reason: "ports-used-up",
      cause: error,
    });
  return undefined;
}

/** What the API server's no means for who wants to start something. */
export function refusalFrom(error: unknown): unknown {
  if (!(error instanceof KubeRefused)) return error;
  const { status, message } = error;
  if (status === 403 && /exceeded quota/.test(message))
    return new StartRefused(`a quota of the Kubernetes namespace refuses it: ${message}`, {
      reason: "quota-refused",
      cause: error,
    });
  if (status === 403)
    return new StartRefused(`Kubernetes forbids it: ${message}`, { reason: "engine-refused", cause: error });
  if ([400, 404, 409, 413, 422].includes(status))
    return new StartRefused(`Kubernetes refuses it: ${message}`, { reason: "engine-refused", cause: error });
  return error;
}
