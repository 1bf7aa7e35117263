/** Answers the REST v2 operations on Pods, which show compute, mounts and networking as objects. */
import { timestamp } from "../../kernel/clock.ts";
import { onceFor } from "../../kernel/once-for.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { registryId } from "../container/command.ts";
import { logEvents, logQueryOf } from "../logs/follow.ts";
import type { LogReaders } from "../logs/readers.ts";
import type { PodTerms } from "./fields.ts";
import type { PortLinks } from "./links.ts";
import { type ClusterSeat, type KeptPod, Pod } from "./model.ts";
import type { podOperations } from "./operations.ts";
import { internalNames } from "./ports.ts";
import type { PodItem } from "./records.ts";
import type { PodService } from "./service.ts";
import type { PodView, PodViews } from "./view.ts";

type Operations = typeof podOperations;
type CreateBody = Call<Operations["createPod"]>["body"];
type UpdateBody = Call<Operations["updatePod"]>["body"];

export interface PodParts {
  pods: PodService;
  podViews: PodViews;
  portLinks: PortLinks;
  logReaders: LogReaders;
}

export function podHandlers({ pods, podViews: views, portLinks: links, logReaders }: PodParts): Handlers<Operations> {
  const shown = (item: PodItem) => shownPod(item, views);
  return {
    listPods: ({ caller, query }) => {
      const { includeClusterPods = false } = query;
      const whole = { ...query, includeClusterPods };
      return paged("pods", whole, (asked) => pods.list(caller, { ...asked, includeClusterPods }), shown);
    },
    createPod: async ({ caller, body }) => shown(await pods.create(caller, newTerms(body))),
    getPod: async ({ caller, params }) => shown(await pods.own(caller, params.id!)),
    updatePod: async ({ caller, params, body }) => shown(await pods.update(caller, params.id!, termsFrom(body))),
    deletePod: ({ caller, params }) => pods.remove(caller, params.id!),
    async getPodLogs(call) {
      const { caller, params, gone } = call;
      const asked = { pod: params.id!, query: logQueryOf(call), gone };
      return logReaders.followOne(caller, gone, logEvents, () => pods.logs(caller, asked));
    },
    async createPodPortLink({ caller, params }) {
      const { url, expiresAt } = await links.create(caller, params.id!, params.port!);
      return { url, expiresAt: timestamp(expiresAt) };
    },
    async podAction({ caller, params, body }) {
      const pod = await pods.act(caller, params.id!, body.action);
      return pod && shown(pod);
    },
  };
}

function newTerms({ gpu, cpu, ...body }: CreateBody): PodTerms {
  return {
    ...termsFrom(body),
    ...(gpu && { gpu: gpuTerms(gpu) }),
    ...(cpu && { cpu: [cpu] }),
  };
}

function gpuTerms({ id, minVcpuCountPerGpu, ...rest }: NonNullable<CreateBody["gpu"]>): NonNullable<PodTerms["gpu"]> {
  return { types: [id], ...rest, ...(minVcpuCountPerGpu !== undefined && { minVcpuPerGpu: minVcpuCountPerGpu }) };
}

function termsFrom({ registry, ...plain }: UpdateBody): PodTerms {
  return { ...plain, ...(registry !== undefined && { registry: registryId(registry) }) };
}

export function shownPod(item: PodItem, views: PodViews): Pod {
  const { status, statusReason, statusReasonCode, actions, cost, ssh, runtime } = views.of(item);
  const globalNetworking = shownNetwork(item.id, item.doc, status);
  // Named one by one: a second spread took a tenth longer.
  return {
    ...shownRecord(item),
    status,
    statusReason,
    statusReasonCode,
    actions,
    cost,
    ssh,
    runtime,
    globalNetworking,
  };
}

/** Placeholders that keep the order of fields. Their values are filled in at every read. */
const LATER: PodView & Pick<Pod, "globalNetworking"> = {
  ...{ status: "STARTING", statusReason: null, statusReasonCode: null, actions: [], cost: 0, runtime: null },
  ssh: { proxy: null, direct: null },
  globalNetworking: { enabled: false },
};

/** The part that only depends on the record. It is cached per record, because clients list many Pods again and again. */
const shownRecord = onceFor(
  ({ id, createdAt, doc }: PodItem) => {
    const { gpu: _, cpu: __, cluster, ...plain } = doc;
    return recordFrom(Pod, {
      id,
      ...plain,
      ...LATER,
      ...shownCompute(doc),
      dataCenterId: doc.last?.dataCenter ?? null,
      cudaVersion: doc.last?.cuda ?? null,
      ...(cluster && { cluster: shownSeat(cluster, doc.address) }),
      lastStatusChange: timestamp(doc.lastStatusChange),
      createdAt: timestamp(createdAt),
      startedAt: doc.startedAt === null ? null : timestamp(doc.startedAt),
    });
  },
  ({ doc }) => doc,
);

function shownSeat({ id, rank, role }: ClusterSeat, ip: string | null | undefined): NonNullable<Pod["cluster"]> {
  return { id, rank, ...(role && { role }), ...(ip && { ip }) };
}

/** The address is only known while the Pod runs. A change takes effect with the next boot. */
function shownNetwork(
  id: string,
  { globalNetworking, address }: KeptPod,
  status: Pod["status"],
): Pod["globalNetworking"] {
  if (!globalNetworking) return { enabled: false };
  const ip = status === "RUNNING" ? address : null;
  return { enabled: true, ...(ip && { ip }), internalDns: internalNames(id)[0] };
}

const MB_PER_GB = 1024;

function shownCompute({ gpu, cpu = [], last }: KeptPod): Pick<Pod, "gpu" | "cpu"> {
  if (!gpu) {
    const chosen = cpu.find(({ id }) => id === last?.flavor) ?? cpu[0]!;
    return { cpu: { id: chosen.id, vcpuCount: chosen.vcpuCount, memory: chosen.memory } };
  }
  const { gpuType, vcpu, memoryMb, virtual } = last ?? { gpuType: null, vcpu: 1, memoryMb: MB_PER_GB, virtual: false };
  const memory = Math.max(1, Math.round(memoryMb / MB_PER_GB));
  const given = { vcpuCount: Math.max(1, vcpu), memory, ...(virtual && { virtual }) };
  return { gpu: { id: gpuType ?? gpu.types[0]!, count: gpu.count, ...given } };
}
