/** The resources of REST v1: the operations of each, with the functions that answer them. */
import { type Answered, answered } from "../../guards/perform.ts";
import { billingOperationsV1 } from "../../resources/billing/operations-v1.ts";
import { billingHandlersV1 } from "../../resources/billing/rest-v1.ts";
import { endpointOperationsV1 } from "../../resources/endpoints/operations-v1.ts";
import { endpointHandlersV1 } from "../../resources/endpoints/rest-v1.ts";
import { podOperationsV1 } from "../../resources/pods/operations-v1.ts";
import { podHandlersV1 } from "../../resources/pods/rest-v1.ts";
import { registryOperationsV1 } from "../../resources/registries/operations-v1.ts";
import { registryHandlersV1 } from "../../resources/registries/rest-v1.ts";
import { templateOperationsV1 } from "../../resources/templates/operations-v1.ts";
import { templateHandlersV1 } from "../../resources/templates/rest-v1.ts";
import { networkVolumeOperationsV1 } from "../../resources/volumes/operations-v1.ts";
import { networkVolumeHandlersV1 } from "../../resources/volumes/rest-v1.ts";
import { WorkerPods } from "../../resources/workers/pods-v1.ts";
import type { WorkerRecords } from "../../resources/workers/records.ts";
import type { RestServices } from "../rest-v2/resources.ts";

export function restV1Resources(services: RestServices & { workerRecords: WorkerRecords }): Answered[] {
  const workerPods = new WorkerPods(services);
  return [
    answered(podOperationsV1, podHandlersV1({ ...services, workerPods })),
    answered(endpointOperationsV1, endpointHandlersV1({ ...services, workerPods })),
    answered(templateOperationsV1, templateHandlersV1(services.templates)),
    answered(networkVolumeOperationsV1, networkVolumeHandlersV1(services.volumes)),
    answered(registryOperationsV1, registryHandlersV1(services.registries)),
    answered(billingOperationsV1, billingHandlersV1(services.billing)),
  ];
}
