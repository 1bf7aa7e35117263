/** What the nodes of the cluster have for instances: allocatable resources, less what other Pods have asked for, as boxes. */
import type { Clock } from "../../kernel/clock.ts";
import {
  type Box,
  type GpuStock,
  type GpuWish,
  type InstanceSpec,
  PlaceGone,
  StartRefused,
} from "../../ports/compute/compute.ts";
import { isForbidden, type KubeApi } from "./kube-api.ts";
import { isReady, type KubeList, label, type Node, type Pod, type Quantities, quantity } from "./kube-objects.ts";
import { instanceOf, noteOf } from "./pod-state.ts";

export interface CapacityParts {
  api: KubeApi;
  clock: Clock;
  installation: string;
  nodes: () => Node[];
  /** The Pods of this installation. */
  pods: () => Pod[];
  gpuResource: string;
  gpuLabel: string;
  gpuTypes: readonly string[];
  /** See `PodPlace.cpuShare`. */
  cpuShare: number;
  warn: (text: string) => void;
}

/** The GPUs that an instance wants or has, and the node that it is for. */
export type Wanting = Pick<InstanceSpec, "gpu" | "box">;

/** Others' Pods are asked for this often at most: a list of all is much to send. */
const OTHERS_MS = 10_000;
const MB = 2 ** 20;
const GB = 2 ** 30;
const PAGE = 500;

export class KubeCapacity {
  readonly #parts: CapacityParts;
  #others: { at: number; used: Promise<Map<string, Record<string, number>>> } | undefined;
  #isWarned = false;

  constructor(parts: CapacityParts) {
    this.#parts = parts;
  }

  async boxes(): Promise<Box[]> {
    const used = await this.#usedByOthers();
    const boxes = this.usable().map((node) => this.#boxOf(node, used.get(node.metadata.name) ?? {}));
    return boxes.filter(({ vcpu, memoryMb, diskGb }) => vcpu > 0 && memoryMb > 0 && diskGb > 0);
  }

  /** Nodes that take new Pods. */
  usable(): Node[] {
    return this.#parts.nodes().filter((node) => this.#closedBy(node) === undefined);
  }

  /** In words, why a node takes no new Pods. A taint for GPUs is one that Pods with GPUs tolerate. */
  #closedBy(node: Node): string | undefined {
    const { unschedulable = false, taints = [] } = node.spec;
    if (unschedulable) return "it is cordoned";
    const kept = taints.find(({ key, effect }) => effect !== "PreferNoSchedule" && key !== this.#parts.gpuResource);
    if (!isReady(node)) return "it does not answer";
    return kept && `it has the taint ${kept.key}`;
  }

  /** A node that was just cordoned may still be known as free. Its Pod would wait there in vain. */
  #checkNode(box: string): void {
    const node = this.#parts.nodes().find(({ metadata }) => metadata.name === box);
    const closed = node ? this.#closedBy(node) : "it is not there any more";
    if (closed !== undefined) throw new PlaceGone(`node ${box} takes no new Pods: ${closed}`);
  }

  #boxOf(node: Node, used: Record<string, number>): Box {
    const { gpuResource, cpuShare } = this.#parts;
    const { allocatable = {} } = node.status;
    const left = (name: string) => Math.max(0, quantity(allocatable[name]) - (used[name] ?? 0));
    const { labels = {} } = node.metadata;
    const type = this.typeOf(node);
    const count = Math.floor(left(gpuResource));
    const gpus: GpuStock[] =
      type !== undefined && count > 0 ? [{ type, count, virtual: labels[label.pretended] === "true" }] : [];
    const cuda = [labels["nvidia.com/cuda.runtime.major"], labels["nvidia.com/cuda.runtime.minor"]];
    return {
      id: node.metadata.name,
      vcpu: floorTo(left("cpu") / cpuShare, 100),
      memoryMb: Math.floor(left("memory") / MB),
      diskGb: Math.floor(left("ephemeral-storage") / GB),
      gpus,
      ceilings: false,
      ...(gpus.length > 0 && cuda[0] !== undefined && cuda[1] !== undefined && { cuda: cuda.join(".") }),
    };
  }

  /** NVIDIA's labels are the product's name with dashes for spaces. */
  typeOf(node: Node): string | undefined {
    const product = node.metadata.labels?.[this.#parts.gpuLabel];
    return product === undefined ? undefined : this.#parts.gpuTypes.find((type) => dashed(type) === dashed(product));
  }

  /** The values of the product's label that mean this type. */
  productsOf({ type }: GpuWish): string[] {
    const nodes = this.#parts.nodes().filter((node) => this.typeOf(node) === type);
    return [...new Set(nodes.map(({ metadata }) => metadata.labels![this.#parts.gpuLabel]!))];
  }

  /** Refuses what no node has free, so that nobody waits for it in vain. */
  async check({ gpu, box }: Wanting, starting: readonly Wanting[]): Promise<void> {
    if (box !== undefined) this.#checkNode(box);
    if (!gpu) return;
    const { type, count } = gpu;
    const boxes = (await this.boxes()).filter(({ id }) => box === undefined || id === box);
    const stocks = boxes.map(({ id, gpus }) => ({ id, total: gpus.find((one) => one.type === type)?.count ?? 0 }));
    const total = stocks.reduce((sum, one) => sum + one.total, 0);
    const own = this.#parts.pods().filter((pod) => ["pending", "running"].includes(instanceOf(pod).state));
    // What is on other nodes takes nothing from the node that it asks for.
    const beside = [...own.map(wantingOf), ...starting].filter((one) => box === undefined || one.box === box);
    const taken = beside.map((one) => (one.gpu?.type === type ? one.gpu.count : 0));
    const free = total - taken.reduce((sum, one) => sum + one, 0);
    if (free < count || !stocks.some((one) => one.total >= count))
      throw new StartRefused(`needs ${count}x ${type}, ${Math.max(0, free)} of ${total} are free on this machine`, {
        reason: "gpu-in-use",
      });
  }

  async #usedByOthers(): Promise<Map<string, Record<string, number>>> {
    const now = this.#parts.clock.monotonic();
    if (!this.#others || now - this.#others.at > OTHERS_MS) {
      const used = this.#list();
      this.#others = { at: now, used };
      used.catch(() => {
        this.#others = undefined;
      });
    }
    return this.#others.used;
  }

  async #list(): Promise<Map<string, Record<string, number>>> {
    const { api, installation, warn } = this.#parts;
    const used = new Map<string, Record<string, number>>();
    let page: KubeList<Pod> | undefined;
    try {
      do {
        const next = page?.metadata.continue;
        page = await api.call<KubeList<Pod>>("GET", "/api/v1/pods", {
          query: {
            fieldSelector: "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=",
            labelSelector: `${label.installation}!=${installation}`,
            limit: PAGE,
            ...(next !== undefined && { continue: next }),
          },
        });
        for (const pod of page.items) add(used, pod);
      } while (page.metadata.continue);
    } catch (error) {
      if (!isForbidden(error)) throw error;
      if (!this.#isWarned)
        warn("the Kubernetes account may not list Pods of all namespaces: what others use is not counted");
      this.#isWarned = true;
    }
    return used;
  }
}

const dashed = (name: string) => name.replace(/[^a-z0-9]+/gi, "-").toLowerCase();

const floorTo = (value: number, parts: number) => Math.floor(value * parts + 1e-6) / parts;

function wantingOf(pod: Pod): Wanting {
  const [, count, type] = /^(\d+)x (.*)$/.exec(noteOf(pod, "gpu") ?? "") ?? [];
  const box = pod.spec.nodeName ?? noteOf(pod, "box");
  return { ...(type !== undefined && { gpu: { type, count: Number(count) } }), ...(box !== undefined && { box }) };
}

function add(used: Map<string, Record<string, number>>, { spec }: Pod): void {
  const sum = used.get(spec.nodeName!) ?? {};
  used.set(spec.nodeName!, sum);
  const asked: Quantities[] = [
    ...spec.containers.map(({ resources }) => resources?.requests ?? {}),
    ...(spec.initContainers ?? [])
      .filter(({ restartPolicy }) => restartPolicy === "Always")
      .map(({ resources }) => resources?.requests ?? {}),
    spec.overhead ?? {},
  ];
  for (const one of asked)
    for (const [name, value] of Object.entries(one)) sum[name] = (sum[name] ?? 0) + quantity(value);
}
