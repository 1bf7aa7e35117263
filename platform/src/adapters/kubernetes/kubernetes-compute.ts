/** The Kubernetes driver: each instance is a Pod of a cluster, and each node of the cluster is a box. */
import type { Duplex } from "node:stream";
import { sleep } from "../../kernel/clock.ts";
import { failedTo, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import type { Lacks } from "../../ports/compute/abilities.ts";
import type { Box, Compute, Facts, Instance, InstanceSpec, Output } from "../../ports/compute/compute.ts";
import type { Executing } from "../../ports/compute/execution.ts";
import type { ImageFacts } from "../../ports/compute/images.ts";
import { type Loopback, notReached } from "../../ports/compute/loopback.ts";
import type { Publishing } from "../../ports/compute/publish.ts";
import type { Metering } from "../../ports/compute/stats.ts";
import type { Volumes } from "../../ports/compute/volumes.ts";
import { isConflict, KubeApi, unlessNotFound } from "./kube-api.ts";
import { KubeCapacity } from "./kube-capacity.ts";
import { KubeClaims } from "./kube-claims.ts";
import { KubeGroups } from "./kube-groups.ts";
import { isReady, type KubeEvent, label, type Node, type Pod, podName } from "./kube-objects.ts";
import { claimsOf, foldersOf, type KubeVolumes } from "./kube-volumes.ts";
import { Followed } from "./kube-watch.ts";
import { type KubernetesOptions, NODE_PORTS } from "./kubernetes-options.ts";
import { Places } from "./places.ts";
import { PodBook } from "./pod-book.ts";
import { PodDial } from "./pod-dial.ts";
import { PodEnd } from "./pod-end.ts";
import { PodExec } from "./pod-exec.ts";
import { readLog } from "./pod-logs.ts";
import { NO_STORAGE, PodMaker } from "./pod-maker.ts";
import { type Around, EVICTED, instanceOf, listOf, NO_ROOM_MS, noteOf, publishedOf, toText } from "./pod-state.ts";
import { PodStats } from "./pod-stats.ts";
import { instancesPolicy, instancesPolicyName } from "./policies.ts";
import { Registries } from "./registry.ts";

export type { KubernetesOptions } from "./kubernetes-options.ts";

/** A server's start waits at most this long for a cluster that does not answer. */
const FIRST_ATTEMPT_MS = 10_000;

export class KubernetesCompute implements Compute {
  readonly facts: Facts = { ownNetwork: true, sandbox: true, limits: true };
  readonly lacks: Lacks = {
    preparing: "the nodes of Kubernetes fetch images themselves",
    freezing: "Kubernetes cannot pause a Pod: workers are kept warm instead",
    again: "Kubernetes keeps nothing of the disk of a Pod that has ended, only what is on volumes",
    volumes: NO_STORAGE,
    writers: "instances write to the disks of their nodes",
    link: "Pods reach the server at MILLRACE_WORKER_URL",
  };
  readonly networks: KubeGroups;
  readonly exec: Executing;
  readonly loopback: Loopback;
  readonly stats: Metering;
  readonly publishing: Publishing;
  readonly images: ImageFacts;
  readonly volumes: Volumes | undefined;
  readonly #options: KubernetesOptions;
  readonly #api: KubeApi;
  readonly #book = new PodBook();
  readonly #pods: Followed<Pod>;
  readonly #nodes: Followed<Node>;
  readonly #events: Followed<KubeEvent>;
  readonly #places: Places;
  readonly #capacity: KubeCapacity;
  readonly #exec: PodExec;
  readonly #dial: PodDial;
  readonly #stats: PodStats;
  readonly #maker: PodMaker;
  readonly #end: PodEnd;
  readonly #disposed = new AbortController();
  /** The last warning about each Pod that has not begun, by the Pod's uid. */
  readonly #warnings = new Map<string, { reason: string; message: string }>();
  readonly #failed: (error: unknown) => void;
  #isOpen = false;

  /** Also resolves when the cluster does not answer, since it may later. */
  static async open(options: KubernetesOptions): Promise<KubernetesCompute> {
    const compute = new KubernetesCompute(options);
    const late = sleep(options.clock, FIRST_ATTEMPT_MS);
    const ready = compute.#opened().catch((error: Error) => {
      options.log.warn({}, `Kubernetes cannot be used yet: ${error.message}`);
    });
    await Promise.race([ready, late]);
    return compute;
  }

  private constructor(options: KubernetesOptions) {
    this.#options = options;
    const { clock, log, installation, namespace, volumes } = options;
    const failed = named(options.failed ?? failedTo(log), "follow Kubernetes");
    this.#failed = failed;
    const api = new KubeApi(options);
    this.#api = api;
    const { perAccount = false } = options;
    this.#places = new Places({ api, installation, namespace, perAccount, prepare: (one) => this.#prepare(one) });
    const follow = { api, clock, failed };
    this.#pods = new Followed<Pod>({
      ...follow,
      path: this.#places.everywhere("/api/v1", "pods"),
      query: { labelSelector: `${label.installation}=${installation}` },
      heard: (pod, isDeleted) => this.#heard(pod, isDeleted),
    });
    this.#nodes = new Followed<Node>({ ...follow, path: "/api/v1/nodes", heard: () => this.#lookAtAll() });
    this.#events = new Followed<KubeEvent>({
      ...follow,
      path: this.#places.everywhere("/api/v1", "events"),
      query: { fieldSelector: "involvedObject.kind=Pod,type=Warning" },
      heard: (event, isDeleted) => this.#warned(event, isDeleted),
    });
    const pods = () => this.#pods.copy.all();
    const nodes = () => this.#nodes.copy.all();
    const { gpuResource = "nvidia.com/gpu", gpuLabel = "nvidia.com/gpu.product", cpuShare = 1 } = options;
    const gpu = { gpuResource, gpuLabel };
    const warn = (text: string) => log.warn({}, text);
    this.#capacity = new KubeCapacity({ ...options, ...gpu, cpuShare, api, nodes, pods, warn });
    this.#exec = new PodExec(api, clock);
    this.#dial = new PodDial({ api, clock, mode: options.dial });
    this.#stats = new PodStats(api, clock);
    const { plainRegistries: plain = [], registries: trusted = [] } = options;
    const registries = new Registries({ plain, trusted, reachable: options.egress.reachable, clock });
    this.networks = new KubeGroups({ api, clock, installation, places: this.#places, pods, exec: this.#exec, failed });
    this.#end = new PodEnd({
      api,
      clock,
      book: this.#book,
      pod: (id) => this.#pod(id),
      take: (pod) => this.#pods.copy.take(pod),
      around: (pod) => this.#around(pod),
      disposed: this.#disposed.signal,
    });
    const storage = this.#storage(volumes);
    const [capacity, groups, places] = [this.#capacity, this.networks, this.#places];
    const options2 = { ...options, ...gpu, cpuShare, isOperators: (image: string) => this.#isOperators(image) };
    this.#maker = new PodMaker({ options: options2, api, capacity, groups, places, storage, end: this.#end });
    this.exec = { run: (id, spec) => this.#exec.run(id, this.#pod(id), spec) };
    this.loopback = { dial: (id, target) => this.#dialLoopback(id, target) };
    this.stats = { of: (id) => this.#stats.of(this.#pod(id), (node) => this.#isPretended(node)) };
    this.publishing = { rangeFor: () => options.nodePorts ?? NODE_PORTS };
    this.images = {
      originOf: async (image) => (this.#isOperators(image) ? "operator" : "registry"),
      lookUp: (image, lookup) => registries.lookUp(image, lookup),
    };
    this.volumes = storage?.volumes;
    storage?.volumes.users.toldBy(async (volume) => this.#usersOf(volume));
  }

  #storage(volumes: KubernetesOptions["volumes"]): KubeVolumes | undefined {
    if (!volumes) return undefined;
    if ("folders" in volumes) return foldersOf(volumes.folders, volumes.source);
    const { installation, namespace } = this.#options;
    const ensure = () => this.#places.ensure(namespace);
    return claimsOf(new KubeClaims({ ...volumes, api: this.#api, installation, namespace, ensure }));
  }

  async #opened(): Promise<void> {
    if (!this.#options.perAccount) await this.#places.ensure(this.#options.namespace);
    await Promise.all([this.#pods.ready, this.#nodes.ready, this.#events.ready]);
    this.#isOpen = true;
    for (const event of this.#events.copy.all()) this.#warned(event, false);
    for (const pod of this.#pods.copy.all()) {
      this.#book.learn(pod.metadata.uid!, this.#view(pod));
      this.networks.changed(pod);
    }
    floating(this.#end.sweep(this.#places, this.#options.installation), this.#failed);
  }

  /** The policy that holds for all instances comes before the first of them. */
  async #prepare(namespace: string): Promise<void> {
    const { installation, egress, server, serverPorts } = this.#options;
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`;
    const body = instancesPolicy({ installation, namespace }, egress, { peers: server, ports: serverPorts });
    const { spec } = body;
    await this.#api.call("POST", path, { body }).catch(async (error) => {
      if (!isConflict(error)) throw error;
      await this.#api.call("PATCH", `${path}/${instancesPolicyName(installation)}`, { body: { spec } });
    });
  }

  #isOperators(image: string): boolean {
    return (this.#options.nodeImages ?? []).some((name) =>
      name.endsWith("*") ? image.startsWith(name.slice(0, -1)) : image === name,
    );
  }

  #isPretended(node: string): boolean {
    return this.#nodes.copy.get(node)?.metadata.labels?.[label.pretended] === "true";
  }

  #pod(id: string): Pod | undefined {
    const pod = this.#pods.copy.get(podName(id));
    return pod?.metadata.labels?.[label.instance] === id ? pod : undefined;
  }

  #around(pod: Pod): Around {
    const node = pod.spec.nodeName === undefined ? undefined : this.#nodes.copy.get(pod.spec.nodeName);
    return {
      warning: this.#warnings.get(pod.metadata.uid ?? ""),
      isNodeThere: pod.spec.nodeName === undefined || (node !== undefined && isReady(node)),
      now: this.#options.clock.now(),
    };
  }

  #view(pod: Pod): Instance {
    return instanceOf(pod, this.#around(pod));
  }

  #heard(pod: Pod, isDeleted: boolean): void {
    const { uid } = pod.metadata;
    const id = pod.metadata.labels?.[label.instance] ?? "";
    if (isDeleted) {
      this.#warnings.delete(uid!);
      if (this.#end.isEnding(id)) this.#book.forget(uid!, id);
      else this.#book.lose(uid!, id, this.#options.clock.now());
    } else if (this.#isOpen) this.#look(pod);
    if (this.#isOpen) this.networks.changed(pod);
  }

  #look(pod: Pod): void {
    const instance = this.#view(pod);
    if (instance.state === "refused" && noteOf(pod, "refused") === undefined && !this.#end.isEnding(instance.id))
      floating(this.#end.refuse(pod, toText(instance.refusal!)), this.#failed);
    if (instance.state === "exited" && publishedOf(pod).length > 0) floating(this.#end.unpublish(pod), this.#failed);
    // Whether it is refused, for want of room or for its image, also depends on the time.
    if (instance.state === "pending") this.#lookLater(pod);
    this.#book.hear(pod.metadata.uid!, instance);
  }

  readonly #later = new Set<string>();

  #lookLater(pod: Pod): void {
    const uid = pod.metadata.uid!;
    if (this.#later.has(uid)) return;
    this.#later.add(uid);
    this.#options.clock.after(NO_ROOM_MS + 1_000, () => {
      this.#later.delete(uid);
      const now = this.#pods.copy.get(pod.metadata.name);
      if (now?.metadata.uid === uid && !this.#disposed.signal.aborted) this.#look(now);
    });
  }

  /** A node that is lost or comes back changes what its Pods are. */
  #lookAtAll(): void {
    if (this.#isOpen) for (const pod of this.#pods.copy.all()) if (pod.metadata.deletionTimestamp) this.#look(pod);
  }

  #warned({ involvedObject: { uid = "" }, reason = "", message = "" }: KubeEvent, isDeleted: boolean): void {
    if (isDeleted) return;
    const pod = this.#isOpen ? this.#pods.copy.all().find(({ metadata }) => metadata.uid === uid) : undefined;
    if (!pod || (this.#view(pod).state !== "pending" && reason !== EVICTED)) return;
    this.#warnings.set(uid, { reason, message });
    this.#look(pod);
  }

  #usersOf(volume: string): string[] {
    const users = this.#pods.copy.all().filter((pod) => {
      const { state } = this.#view(pod);
      return (state === "pending" || state === "running") && listOf(pod, "volumes").includes(volume);
    });
    return [
      ...new Set([...this.#maker.mounting(volume), ...users.map(({ metadata }) => metadata.labels![label.instance]!)]),
    ];
  }

  /** An address at which the ports of nodes are reached: a public one if a node has one. */
  nodeAddress(): { address: string; isPublic: boolean } | undefined {
    const all = this.#nodes.copy
      .all()
      .filter(isReady)
      .flatMap(({ status }) => status.addresses ?? []);
    const found = all.find(({ type }) => type === "ExternalIP") ?? all.find(({ type }) => type === "InternalIP");
    return found && { address: found.address, isPublic: found.type === "ExternalIP" };
  }

  capacity(): Promise<Box[]> {
    return this.#isOpen ? this.#capacity.boxes() : Promise.resolve([]);
  }

  async start(id: string, spec: InstanceSpec): Promise<Instance> {
    await this.#whenOpen();
    const known = this.#pod(id);
    if (known) return this.#view(known);
    const pod = await this.#maker.make(id, spec);
    this.#pods.copy.take(pod);
    return this.#view(this.#pods.copy.get(pod.metadata.name) ?? pod);
  }

  async stop(id: string, graceMs: number): Promise<void> {
    await this.#whenOpen();
    await this.#maker.settled(id);
    await this.#end.stop(id, graceMs);
  }

  async remove(id: string): Promise<void> {
    await this.#whenOpen();
    await this.#maker.settled(id);
    const pod = this.#pod(id) ?? (await this.#find(id));
    if (!pod) return;
    await this.#end.remove(id, pod);
    this.#pods.copy.drop(pod);
    await this.networks.removed(pod);
  }

  /** What another process has just made may not have been heard of yet. */
  async #find(id: string): Promise<Pod | undefined> {
    if (!/^[a-z0-9-]{1,50}$/i.test(id) || this.#options.perAccount) return undefined;
    const path = `/api/v1/namespaces/${this.#options.namespace}/pods/${podName(id)}`;
    const pod = await this.#api.call<Pod>("GET", path).catch(unlessNotFound);
    return pod?.metadata.labels?.[label.installation] === this.#options.installation ? pod : undefined;
  }

  async list(): Promise<Instance[]> {
    await this.#whenOpen();
    return this.#pods.copy.all().map((pod) => this.#view(pod));
  }

  /** Throws in words while the cluster has never answered. */
  async #whenOpen(): Promise<void> {
    if (!this.#isOpen) await this.#opened();
  }

  watch(listener: (instance: Instance) => void): () => void {
    return this.#book.watch(listener);
  }

  async *logs(id: string, { after, signal }: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    await this.#whenOpen();
    const until = AbortSignal.any([signal, this.#disposed.signal]);
    const { clock } = this.#options;
    const changed = (over: AbortSignal) => this.#book.changed(over);
    yield* readLog({ api: this.#api, clock, pod: () => this.#pod(id), changed, after, signal: until });
  }

  async dial(id: string, port: number): Promise<Duplex> {
    const pod = this.#pod(id);
    if (!pod) throw new Error(`no instance ${id}`);
    if (!listOf(pod, "ports").includes(String(port))) throw new Error(`instance ${id} has no port ${port}`);
    if (this.#view(pod).state !== "running")
      throw new Error(`instance ${id} does not run, so nothing listens on port ${port}`);
    return this.#dial.dial(pod, port).catch((error: Error) => {
      throw new Error(`port ${port} of instance ${id} cannot be reached: ${error.message}`, { cause: error });
    });
  }

  async #dialLoopback(id: string, target: Parameters<Loopback["dial"]>[1]): Promise<Duplex> {
    const pod = this.#pod(id);
    if (!pod) throw notReached(id, target, `there is no instance ${id}`);
    if (this.#view(pod).state !== "running") throw notReached(id, target, "it does not run");
    return this.#dial.loopback(id, pod, target);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exec[Symbol.asyncDispose]();
    this.#disposed.abort();
    this.#book.wake();
    for (const followed of [this.#pods, this.#nodes, this.#events]) await followed[Symbol.asyncDispose]();
    this.#api[Symbol.dispose]();
  }
}
