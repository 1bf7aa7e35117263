/** Translates GraphQL inputs for an endpoint into the names of the flat dialect. */
import type { Flat } from "../../kernel/flat.ts";
import { withOneCuda } from "../../resources/container/cuda-versions.ts";
import { anyOfSize, DEFAULT_VCPUS } from "../../resources/container/instance-ids.ts";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import { endpointTypeFrom, flashBootFrom, scalerTypeFrom } from "../../resources/endpoints/flat-forms.ts";
import { typesOfGpuIds } from "../../resources/endpoints/gpu-ids.ts";
import { dataCentersOf } from "../../resources/endpoints/locations.ts";
import { given } from "./fields.ts";
import { containerOf, sameNames } from "./pod-inputs.ts";
import { templateFlat } from "./template-rows.ts";

type Said = Readonly<Record<string, unknown>>;

/** Clients send these fields empty when they have no value for them. */
const EMPTY_IS_NOTHING = [
  ...["name", "templateId", "allowedCudaVersions", "minCudaVersion", "flashBootType", "type", "scalerType", "gpuIds"],
];

export function endpointFlat(input: unknown, { isNew }: { isNew: boolean }): Flat {
  const said = given(input, ...EMPTY_IS_NOTHING);
  return given({
    ...sameNames(said, endpointDialect.fields),
    type: read(said.type, endpointTypeFrom),
    flashBootType: read(said.flashBootType, flashBootFrom),
    scalerType: read(said.scalerType, scalerTypeFrom),
    ...computeOf(said, isNew),
    ...placesOf((input ?? {}) as Said),
    // 0 counts as not given.
    executionTimeoutMs: said.executionTimeoutMs || undefined,
    ...containerFlat(said),
  });
}

const read = <T>(said: unknown, from: (text: string) => T): T | undefined =>
  said === undefined ? undefined : from(said as string);

/** An endpoint runs on CPUs if it names flavors, otherwise on GPUs by pools. Fields about the other kind are ignored. */
function computeOf(said: Said, isNew: boolean): Flat {
  const { computeType, instanceIds, gpuIds, gpuCount, allowedCudaVersions, minCudaVersion } = said;
  const flavors = Array.isArray(instanceIds) ? instanceIds.filter((id) => id) : [];
  if (computeType === "CPU" || flavors.length > 0)
    return { ...withoutGpus, instanceIds: flavors.length > 0 ? flavors : isNew ? anyOfSize(DEFAULT_VCPUS) : undefined };
  return {
    instanceIds: undefined,
    gpuTypeIds: read(gpuIds, typesOfGpuIds),
    gpuCount: gpuCount || undefined,
    ...withOneCuda({ allowedCudaVersions: read(allowedCudaVersions, wordsIn), minCudaVersion }),
  };
}

const withoutGpus: Flat = {
  gpuTypeIds: undefined,
  gpuCount: undefined,
  allowedCudaVersions: undefined,
  minCudaVersion: undefined,
};

/** A client that sends a whole CPU endpoint back also sends fields about GPUs. */
export const onCpus = (flat: Flat): Flat => given({ ...flat, ...withoutGpus });

const wordsIn = (list: string) =>
  list
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");

interface VolumeNamed {
  networkVolumeId?: string | null;
}

/** Null and an empty list clear what the endpoint has. An empty text says nothing, since clients fill unset fields with it. */
function placesOf({ locations, networkVolumeId: one, networkVolumeIds: several }: Said): Flat {
  const all = ((several ?? []) as (VolumeNamed | null)[]).map((volume) => volume?.networkVolumeId);
  const named = [...new Set([one, ...all].filter((id) => id))];
  const isNone = one === null || several === null || (several !== undefined && all.length === 0);
  return {
    networkVolumeIds: named.length > 0 || isNone ? named : undefined,
    dataCenterIds: locations === null ? [] : read(locations || undefined, dataCentersOf),
  };
}

/** A template sent along with an endpoint becomes its own container. */
function containerFlat({ template, env }: Said): Flat {
  const container = { ...(template !== undefined && templateFlat(template)), ...containerOf({ env }) };
  const named = Object.entries(container).map(([name, value]) => [`template.${name}`, value] as const);
  return Object.fromEntries(named.filter(([name]) => name in endpointDialect.fields));
}
