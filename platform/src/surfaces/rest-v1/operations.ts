/** All operations of REST v1 as pure data. The routes and the OpenAPI document are made from them. */
import { billingOperationsV1 } from "../../resources/billing/operations-v1.ts";
import { endpointOperationsV1 } from "../../resources/endpoints/operations-v1.ts";
import { podOperationsV1 } from "../../resources/pods/operations-v1.ts";
import { registryOperationsV1 } from "../../resources/registries/operations-v1.ts";
import { templateOperationsV1 } from "../../resources/templates/operations-v1.ts";
import { networkVolumeOperationsV1 } from "../../resources/volumes/operations-v1.ts";

export const restV1Operations = {
  ...podOperationsV1,
  ...endpointOperationsV1,
  ...templateOperationsV1,
  ...networkVolumeOperationsV1,
  ...registryOperationsV1,
  ...billingOperationsV1,
};
