/** What REST v1 and GraphQL show of an endpoint in addition to its own fields: its template, version and compute in their words. */
import { timestamp } from "../../kernel/clock.ts";
import { templateIdOf } from "./binding.ts";
import { type FlatType, flatTypeOf, isFlashBooting, wholeScalerValueOf } from "./flat-forms.ts";
import { gpuIdsOf } from "./gpu-ids.ts";
import { locationsOf } from "./locations.ts";
import type { KeptEndpoint, Scaling } from "./model.ts";
import type { EndpointItem } from "./service.ts";

export interface FlatEndpoint {
  id: string;
  name: string;
  userId: string;
  createdAt: string;
  /** The template that it follows, or its own id for its own container. */
  templateId: string;
  /** Versions begin at 0. */
  version: number;
  type: FlatType;
  computeType: "CPU" | "GPU";
  env: Record<string, string>;
  /** Null for a CPU endpoint. `gpuIds` has pools and exclusions as one text, `gpuTypeIds` the types in order. */
  gpuIds: string | null;
  gpuTypeIds: string[] | null;
  gpuCount: number;
  allowedCudaVersions: string[];
  minCudaVersion: string | null;
  /** Null for a GPU endpoint. */
  instanceIds: string[] | null;
  dataCenterIds: string[];
  locations: string;
  networkVolumeId: string | null;
  networkVolumeIds: string[];
  networkVolumes: { networkVolumeId: string; dataCenterId: string }[];
  workersMin: number;
  workersMax: number;
  workersStandby: number;
  idleTimeout: number;
  scalerType: Scaling["type"];
  scalerValue: number;
  executionTimeoutMs: number;
  flashboot: boolean;
  flashBootType: KeptEndpoint["flashboot"];
}

/** `userId` is the owner of the endpoint's account. */
export function flatEndpoint(item: EndpointItem, userId: string): FlatEndpoint {
  const { id, createdAt, doc } = item;
  const { name, env, workers, release, timeout, flashboot } = doc;
  return {
    ...{ id, name, userId, createdAt: timestamp(createdAt) },
    ...{ templateId: templateIdOf(item), version: release - 1, type: flatTypeOf(doc), env },
    ...computeOf(doc),
    ...placesOf(doc),
    ...{
      workersMin: workers.min,
      workersMax: workers.max,
      workersStandby: workers.min,
      idleTimeout: workers.idleTimeout,
    },
    ...{ scalerType: doc.scaling.type, scalerValue: wholeScalerValueOf(doc) },
    ...{ executionTimeoutMs: timeout, flashboot: isFlashBooting(doc), flashBootType: flashboot },
  };
}

function computeOf({ gpu, cpu }: KeptEndpoint) {
  return {
    computeType: cpu ? ("CPU" as const) : ("GPU" as const),
    gpuIds: gpu ? gpuIdsOf(gpu.types) : null,
    gpuTypeIds: gpu?.types ?? null,
    gpuCount: gpu?.count ?? 0,
    allowedCudaVersions: gpu?.allowedCudaVersions ?? [],
    minCudaVersion: gpu?.minCudaVersion ?? null,
    instanceIds: cpu?.map(({ id, vcpuCount, memory }) => `${id}-${vcpuCount}-${memory}`) ?? null,
  };
}

function placesOf({ dataCenterIds, networkVolumes, volumePlaces = [] }: KeptEndpoint) {
  return {
    dataCenterIds,
    locations: locationsOf(dataCenterIds),
    networkVolumeId: networkVolumes[0] ?? null,
    networkVolumeIds: networkVolumes,
    networkVolumes: volumePlaces.map(({ id, dataCenter }) => ({ networkVolumeId: id, dataCenterId: dataCenter })),
  };
}
