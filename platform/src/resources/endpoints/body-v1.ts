/** Translates bodies of REST v1 for an endpoint into the names of the flat dialect and the terms of the service. */
import type { Flat } from "../../kernel/flat.ts";
import { problem } from "../../kernel/problem.ts";
import { withOneCuda } from "../container/cuda-versions.ts";
import { anyOfSize } from "../container/instance-ids.ts";
import { withKnownChoices } from "../known-choices.ts";
import { v1Defaults } from "../v1-defaults.ts";
import type { EndpointTerms } from "./fields.ts";
import { flashBootFrom } from "./flat-forms.ts";
import type { KeptEndpoint } from "./model.ts";
import { endpointShapes } from "./operations-v1.ts";

const defaults = v1Defaults.endpoint;

export function newEndpointTerms(sent: Flat): EndpointTerms {
  const body = withKnownChoices(sent);
  const { workersMin, workersMax, idleTimeout, scalerType, scalerValue, executionTimeoutMs } = defaults;
  const filled = { workersMin, workersMax, idleTimeout, scalerType, scalerValue, executionTimeoutMs };
  const flat = { ...filled, ...plainIn(body), ...computeIn(body, isOnCpus(body)), ...volumesIn(body) };
  return { ...endpointShapes.created(flat), ...flashBootIn(body) };
}

/** Fields that are not sent stay unchanged. */
export function changedEndpointTerms(sent: Flat, before: KeptEndpoint): EndpointTerms {
  const body = withKnownChoices(sent);
  const isCpu = before.cpu !== undefined;
  const flat = { ...plainIn(body), ...computeIn(body, isCpu, before), ...volumesIn(body) };
  return { ...endpointShapes.updated(flat, before), ...flashBootIn(body, before) };
}

/** The fields of compute that have another form in the dialect, or that are ignored. */
const OF_COMPUTE = ["gpuTypeId", "gpuTypeIds", "gpuCount", "minCudaVersion", "allowedCudaVersions", "instanceIds"];

/** The fields with the same name and form in the dialect. A timeout of 0 means that none is set. */
const plainIn = (body: Flat): Flat =>
  Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) => !OF_COMPUTE.includes(name) && !(name === "executionTimeoutMs" && value === 0),
    ),
  );

const listIn = (list: unknown): string[] => (Array.isArray(list) ? (list as string[]) : []);

/** CPU flavors without GPUs mean a CPU endpoint. If neither is named, the template decides. */
function isOnCpus({ computeType, cpuFlavorIds, instanceIds, gpuTypeIds, gpuTypeId }: Flat): boolean {
  if (computeType !== undefined) return computeType === "CPU";
  return listIn(cpuFlavorIds ?? instanceIds).length > 0 && listIn(gpuTypeIds).length === 0 && !gpuTypeId;
}

/** Fields for the other kind of compute are ignored. */
const computeIn = (body: Flat, isCpu: boolean, before?: KeptEndpoint): Flat =>
  isCpu ? cpusIn(body, before) : gpusIn(body);

/** A CPU endpoint shows 0 GPUs, and clients may send that back. For a GPU endpoint a count of 0 is refused. */
const NO_GPUS = "$.gpuCount: must be >= 1; for workers without GPUs send 'computeType': \"CPU\"";

function gpusIn({ gpuTypeId, gpuTypeIds, gpuCount, minCudaVersion, allowedCudaVersions, computeType }: Flat): Flat {
  const types = listIn(gpuTypeIds).length > 0 ? listIn(gpuTypeIds) : gpuTypeId ? [gpuTypeId] : undefined;
  if (gpuCount === 0) throw problem("invalid", "Request validation failed.", { errors: [NO_GPUS] });
  // Asks for any GPU, even if the template would ask for none.
  const count = gpuCount || (computeType === "GPU" ? defaults.gpuCount : undefined);
  const least = minCudaVersion === "" ? null : minCudaVersion;
  return { gpuTypeIds: types, gpuCount: count, ...withOneCuda({ minCudaVersion: least, allowedCudaVersions }) };
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
