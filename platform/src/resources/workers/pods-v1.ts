/** Workers of endpoints as REST v1 shows them: as Pods that have an endpoint. */
import type { Caller } from "../../kernel/caller.ts";
import { unpaged } from "../../kernel/cursor.ts";
import type { Flat } from "../../kernel/flat.ts";
import type { EndpointItem, EndpointService } from "../endpoints/service.ts";
import { type Including, instanceRecord } from "../pods/record-v1.ts";
import { flatWorker } from "./flat-view.ts";
import type { WorkerItem, WorkerRecords } from "./records.ts";
import type { WorkerService } from "./service.ts";

export class WorkerPods {
  readonly #records: WorkerRecords;
  readonly #endpoints: EndpointService;
  readonly #workers: Pick<WorkerService, "lossOf">;

  constructor(parts: { workerRecords: WorkerRecords; endpoints: EndpointService; workers: WorkerService }) {
    this.#records = parts.workerRecords;
    this.#endpoints = parts.endpoints;
    this.#workers = parts.workers;
  }

  /** The workers of every endpoint that the caller may see. */
  async all(caller: Caller, including: Including): Promise<Flat[]> {
    const endpoints = await unpaged((asked) => this.#endpoints.list(caller, asked));
    return [...(await this.of(endpoints, including)).values()].flat();
  }

  /** The workers of these endpoints, grouped by endpoint. The records are read only once. */
  async of(endpoints: readonly EndpointItem[], including: Including): Promise<Map<string, Flat[]>> {
    const workers = endpoints.length === 0 ? [] : await this.#records.all();
    return new Map(
      endpoints.map((endpoint) => {
        const own = workers.filter(({ doc }) => doc.owner === endpoint.id);
        return [endpoint.id, own.map((worker) => this.#shown(worker, endpoint, including))];
      }),
    );
  }

  async find(caller: Caller, id: string, including: Including): Promise<Flat | undefined> {
    const worker = await this.#records.find(id);
    if (worker?.account !== caller.account) return undefined;
    return this.#shown(worker, await this.#endpoints.own(caller, worker.doc.owner), including);
  }

  #shown(worker: WorkerItem, endpoint: EndpointItem, including: Including): Flat {
    return workerPod(flatWorker(worker, this.#workers.lossOf(worker)), worker, endpoint, including);
  }
}

type FlatWorker = ReturnType<typeof flatWorker>;

function workerPod(flat: FlatWorker, worker: WorkerItem, endpoint: EndpointItem, including: Including): Flat {
  const { doc: own } = endpoint;
  return {
    ...{ name: own.name, image: worker.doc.image, imageName: worker.doc.image, consumerUserId: worker.account },
    ...{ containerDiskInGb: own.disk, volumeInGb: 0, volumeMountPath: "", ports: own.ports, env: own.env },
    ...{ dockerEntrypoint: own.entrypoint, dockerStartCmd: own.cmd, interruptible: false, locked: false },
    ...{ endpointId: endpoint.id, aiApiId: endpoint.id, slsVersion: worker.doc.release - 1 },
    computeType: worker.doc.gpuType === null ? "CPU" : "GPU",
    ...instanceRecord(flat, including),
  };
}
