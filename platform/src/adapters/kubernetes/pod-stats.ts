/** What Pods use: from the nodes' own summary or, where the account may not read that, from the metrics API. */
import { type Clock, parseTimestamp } from "../../kernel/clock.ts";
import type { Stats } from "../../ports/compute/stats.ts";
import { isForbidden, isNotFound, type KubeApi } from "./kube-api.ts";
import { MAIN, type Pod, quantity } from "./kube-objects.ts";
import { instanceOf, noteOf } from "./pod-state.ts";

interface Summary {
  pods?: {
    podRef: { uid: string };
    containers?: {
      name: string;
      cpu?: { time: string; usageCoreNanoSeconds?: number };
      memory?: { workingSetBytes?: number };
      rootfs?: { usedBytes?: number };
    }[];
  }[];
}

interface PodMetrics {
  timestamp: string;
  containers: { name: string; usage: { memory: string } }[];
}

/** Several instances of a node are asked for together. */
const FRESH_MS = 1_000;
const MB = 2 ** 20;

export class PodStats {
  readonly #api: KubeApi;
  readonly #clock: Clock;
  readonly #summaries = new Map<string, { at: number; summary: Promise<Summary | undefined> }>();
  #mayReadNodes = true;

  constructor(api: KubeApi, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  async of(pod: Pod | undefined, isPretended: (node: string) => boolean): Promise<Stats | undefined> {
    if (!pod?.spec.nodeName || instanceOf(pod).state !== "running") return undefined;
    const node = pod.spec.nodeName;
    const gpus = (instanceOf(pod).devices ?? []).map((id) => ({ id, virtual: isPretended(node) }));
    const memoryLimitBytes = Number(noteOf(pod, "memoryMb")) * MB;
    return { ...((await this.#measured(pod)) ?? { at: this.#clock.now() }), memoryLimitBytes, gpus };
  }

  async #measured(pod: Pod): Promise<Omit<Stats, "gpus"> | undefined> {
    const summary = this.#mayReadNodes ? await this.#summaryOf(pod.spec.nodeName!) : undefined;
    if (!this.#mayReadNodes) return this.#fromMetrics(pod);
    const found = summary?.pods?.find(({ podRef }) => podRef.uid === pod.metadata.uid);
    const main = found?.containers?.find(({ name }) => name === MAIN);
    const at = parseTimestamp(main?.cpu?.time ?? "");
    if (!main || at === undefined) return undefined;
    const { cpu, memory, rootfs } = main;
    return {
      at,
      ...(cpu?.usageCoreNanoSeconds !== undefined && { cpuMs: Math.floor(cpu.usageCoreNanoSeconds / 1e6) }),
      ...(memory?.workingSetBytes !== undefined && { memoryBytes: memory.workingSetBytes }),
      ...(rootfs?.usedBytes !== undefined && { diskBytes: rootfs.usedBytes }),
    };
  }

  #summaryOf(node: string): Promise<Summary | undefined> {
    const now = this.#clock.monotonic();
    const known = this.#summaries.get(node);
    if (known && now - known.at < FRESH_MS) return known.summary;
    const summary = this.#api.call<Summary>("GET", `/api/v1/nodes/${node}/proxy/stats/summary`).catch((error) => {
      if (isForbidden(error)) this.#mayReadNodes = false;
      return undefined;
    });
    this.#summaries.set(node, { at: now, summary });
    return summary;
  }

  /** The metrics API knows how much processor time is used per second, but not since the start, so that is left out. */
  async #fromMetrics({ metadata: { namespace, name } }: Pod): Promise<Omit<Stats, "gpus"> | undefined> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${name}`;
    const metrics = await this.#api.call<PodMetrics>("GET", path).catch((error) => {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      return undefined;
    });
    const main = metrics?.containers.find((one) => one.name === MAIN);
    const at = parseTimestamp(metrics?.timestamp ?? "");
    return main && at !== undefined ? { at, memoryBytes: quantity(main.usage.memory) } : undefined;
  }
}
