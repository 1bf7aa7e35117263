/** Workers of endpoints as REST v1 shows them: as Pods that have an endpoint. */

import { cpuPrice, dataCenter, gpuPrice, gpuType } from "../../catalog/compute.ts";
import type { Caller } from "../../kernel/caller.ts";
import { dateText, timestamp } from "../../kernel/clock.ts";
import { unpaged } from "../../kernel/cursor.ts";
import type { Flat } from "../../kernel/flat.ts";
import type { EndpointItem, EndpointService } from "../endpoints/service.ts";
import { type Including, instanceRecord } from "../pods/record-v1.ts";
import type { WorkerState } from "./model.ts";
import type { WorkerItem, WorkerRecords } from "./records.ts";

const MB_PER_GB = 1024;
const ENDED: readonly WorkerState[] = ["FAILED", "GONE"];

export class WorkerPods {
  readonly #records: WorkerRecords;
  readonly #endpoints: EndpointService;

  constructor(parts: { workerRecords: WorkerRecords; endpoints: EndpointService }) {
    this.#records = parts.workerRecords;
    this.#endpoints = parts.endpoints;
  }

  /** Those of every endpoint that the caller may see. */
  async all(caller: Caller, including: Including): Promise<Flat[]> {
    const endpoints = await unpaged((asked) => this.#endpoints.list(caller, asked));
    return [...(await this.of(endpoints, including)).values()].flat();
  }

  /** Those of some endpoints, by the endpoint, read once. */
  async of(endpoints: readonly EndpointItem[], including: Including): Promise<Map<string, Flat[]>> {
    const workers = endpoints.length === 0 ? [] : await this.#records.all();
    return new Map(
      endpoints.map((endpoint) => {
        const own = workers.filter(({ doc }) => doc.owner === endpoint.id);
        return [endpoint.id, own.map((worker) => workerPod(worker, endpoint, including))];
      }),
    );
  }

  async find(caller: Caller, id: string, including: Including): Promise<Flat | undefined> {
    const worker = await this.#records.find(id);
    if (worker?.account !== caller.account) return undefined;
    return workerPod(worker, await this.#endpoints.own(caller, worker.doc.owner), including);
  }
}

function workerPod(worker: WorkerItem, endpoint: EndpointItem, including: Including): Flat {
  const { doc: own } = endpoint;
  return {
    ...{ name: own.name, image: worker.doc.image, imageName: worker.doc.image, consumerUserId: worker.account },
    ...{ containerDiskInGb: own.disk, volumeInGb: 0, volumeMountPath: "", ports: own.ports, env: own.env },
    ...{ dockerEntrypoint: own.entrypoint, dockerStartCmd: own.cmd, interruptible: false, locked: false },
    ...{ endpointId: endpoint.id, aiApiId: endpoint.id, slsVersion: worker.doc.release - 1 },
    computeType: worker.doc.gpuType === null ? "CPU" : "GPU",
    ...instanceRecord(viewOf(worker), including),
  };
}

/** What it has of its machine, in the words in which a Pod says it. */
function viewOf({ id, createdAt, doc }: WorkerItem): Parameters<typeof instanceRecord>[0] {
  const { state, machine, gpuType: type, gpuCount, flavor, vcpu, memoryMb, startedAt, reason } = doc;
  const isOver = ENDED.includes(state);
  const costPerHr = machine === null || isOver ? 0 : costOf(doc);
  const at = dateText(startedAt ?? createdAt);
  return {
    id,
    desiredStatus: isOver ? "EXITED" : "RUNNING",
    lastStatusChange: `${isOver ? "Exited by Millrace" : "Rented by User"}: ${at}${reason === null ? "" : ` (${reason})`}`,
    createdAt: timestamp(createdAt),
    lastStartedAt: startedAt === null ? null : timestamp(startedAt),
    machineId: machine ?? "",
    costPerHr,
    adjustedCostPerHr: costPerHr,
    ...{ gpuCount, gpuTypeId: type, cpuFlavorId: flavor },
    ...{ vcpuCount: Math.round(vcpu), memoryInGb: Math.round(memoryMb / MB_PER_GB) },
    ...{ publicIp: null, portMappings: {}, uptimeSeconds: 0, runtime: null },
    machine: {
      ...{ id: machine ?? "", podHostId: id, dataCenterId: doc.dataCenter },
      location: (doc.dataCenter !== null && dataCenter(doc.dataCenter)?.country) || null,
      ...{ gpuTypeId: type, gpuDisplayName: type && (gpuType(type)?.name ?? type), cpuTypeId: flavor },
      ...{ secureCloud: true, supportPublicIp: false, costPerHr },
      currentPricePerGpu: gpuCount === 0 ? null : costPerHr / gpuCount,
    },
  };
}

const costOf = ({ gpuType: type, gpuCount, flavor, vcpu }: WorkerItem["doc"]): number =>
  type === null ? (flavor === null ? 0 : cpuPrice(flavor, "worker") * vcpu) : gpuPrice.worker(type) * gpuCount;
