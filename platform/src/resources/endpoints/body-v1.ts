/** What bodies of REST v1 say of an endpoint, in the names of the flat dialect and in the terms of the service. */
import type { Flat } from "../../kernel/flat.ts";
import { problem } from "../../kernel/problem.ts";
import { anyOfSize } from "../container/instance-ids.ts";
import { v1Defaults } from "../v1-defaults.ts";
import type { EndpointTerms } from "./fields.ts";
import { flashBootFrom } from "./flat-forms.ts";
import type { KeptEndpoint } from "./model.ts";
import { endpointShapes } from "./operations-v1.ts";

const defaults = v1Defaults.endpoint;

export function newEndpointTerms(body: Flat): EndpointTerms {
  const { workersMin, workersMax, idleTimeout, scalerType, scalerValue, executionTimeoutMs } = defaults;
  const filled = { workersMin, workersMax, idleTimeout, scalerType, scalerValue, executionTimeoutMs };
  const flat = { ...filled, ...plainIn(body), ...computeIn(body, isOnCpus(body)), ...volumesIn(body) };
  return { ...endpointShapes.created(flat), ...flashBootIn(body) };
}

/** What is not sent stays as it is. */
export function changedEndpointTerms(body: Flat, before: KeptEndpoint): EndpointTerms {
  const isCpu = before.cpu !== undefined;
  const flat = { ...plainIn(body), ...computeIn(body, isCpu, before), ...volumesIn(body) };
  return { ...endpointShapes.updated(flat, before), ...flashBootIn(body, before) };
}

/** What is said of compute in another form, or is not read. */
const OF_COMPUTE = ["gpuTypeId", "gpuTypeIds", "gpuCount", "minCudaVersion", "allowedCudaVersions", "instanceIds"];

/** What stands in the dialect under the same name and in the same form; a timeout of 0 says nothing. */
const plainIn = (body: Flat): Flat =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !OF_COMPUTE.includes(name) && !(name === "executionTimeoutMs" && value === 0),
    ),
  );

const listIn = (list: unknown): string[] => (Array.isArray(list) ? (list as string[]) : []);

/** Who names CPU flavors and no GPUs means an endpoint without them; who names neither leaves it to the template. */
function isOnCpus({ computeType, cpuFlavorIds, instanceIds, gpuTypeIds, gpuTypeId }: Flat): boolean {
  if (computeType !== undefined) return computeType === "CPU";
  return listIn(cpuFlavorIds ?? instanceIds).length > 0 && listIn(gpuTypeIds).length === 0 && !gpuTypeId;
}

/** What is said of the other kind of compute is not read. */
const computeIn = (body: Flat, isCpu: boolean, before?: KeptEndpoint): Flat =>
  isCpu ? cpusIn(body, before) : gpusIn(body);

/** An endpoint without GPUs shows 0 of them, and may send that back; of one that has some it would be a surprise. */
const NO_GPUS = "$.gpuCount: must be >= 1; for workers without GPUs send 'computeType': \"CPU\"";

function gpusIn({ gpuTypeId, gpuTypeIds, gpuCount, minCudaVersion, allowedCudaVersions, computeType }: Flat): Flat {
  const types = listIn(gpuTypeIds).length > 0 ? listIn(gpuTypeIds) : gpuTypeId ? [gpuTypeId] : undefined;
  if (gpuCount === 0) throw problem("invalid", "Request validation failed.", { errors: [NO_GPUS] });
  // Any GPU, where the template would have none.
  const count = gpuCount || (computeType === "GPU" ? defaults.gpuCount : undefined);
  const least = minCudaVersion === "" ? null : minCudaVersion;
  return { gpuTypeIds: types, gpuCount: count, minCudaVersion: least, allowedCudaVersions };
}

function cpusIn({ cpuFlavorIds, instanceIds, vcpuCount }: Flat, before: KeptEndpoint | undefined): Flat {
  if (listIn(instanceIds).length > 0) return { instanceIds };
  const named = listIn(cpuFlavorIds);
  if (before && named.length === 0 && vcpuCount === undefined) return {};
  const size = (vcpuCount ?? before?.cpu?.[0]?.vcpuCount ?? defaults.vcpuCount) as number;
  const known = named.length > 0 ? named : before?.cpu?.map(({ id }) => id);
  return { instanceIds: known?.map((id) => `${id}-${size}`) ?? anyOfSize(size) };
}

function volumesIn({ networkVolumeId, networkVolumeIds }: Flat): Flat {
  if (networkVolumeId === undefined && networkVolumeIds === undefined) return {};
  const all = [networkVolumeId, ...listIn(networkVolumeIds)].filter((id) => id);
  return { networkVolumeIds: [...new Set(all)] };
}

const flashBootIn = ({ flashboot }: Flat, before?: KeptEndpoint): Pick<EndpointTerms, "flashboot"> => {
  const mode = flashboot === undefined ? undefined : flashBootFrom(flashboot as boolean, before);
  return mode === undefined ? {} : { flashboot: mode };
};
