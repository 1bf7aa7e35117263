/** Turns a listing and what was chosen into the terms of an endpoint or a Pod. */
import { present } from "../../kernel/present.ts";
import { problem } from "../../kernel/problem.ts";
import type { EndpointTerms } from "../endpoints/fields.ts";
import { typesOfGpuIds } from "../endpoints/gpu-ids.ts";
import type { PodTerms } from "../pods/fields.ts";
import type { Listing } from "./listing.ts";
import type { DeployHubListing } from "./model.ts";
import { environmentOf } from "./variables.ts";

type Compute = Pick<EndpointTerms, "gpu" | "cpu">;

/** Refuses everything that is wrong with the choice at once. */
function checkedEnvironment(listing: Listing, chosen: DeployHubListing): Record<string, string> {
  const { env, errors } = environmentOf(listing, chosen);
  if (listing.image === null && chosen.image === undefined)
    errors.push("$.image: this listing names no image; name the one that you built from its repository");
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  return { ...env, ...chosen.env };
}

export function endpointTermsOf(listing: Listing, chosen: DeployHubListing): EndpointTerms {
  const { workersMin: min, workersMax: max } = chosen;
  const workers = present({ min, max });
  return {
    ...containerOf(listing, chosen),
    ...computeOf(listing, chosen),
    type: listing.endpointType,
    hubReleaseId: listing.releaseId,
    ...(Object.keys(workers).length > 0 && { workers }),
  };
}

export function podTermsOf(listing: Listing, chosen: DeployHubListing): PodTerms {
  const { persistent, startJupyter, startSsh } = listing;
  const { gpu, cpu } = computeOf(listing, chosen);
  const { types, ...more } = gpu ?? {};
  if (gpu && !types)
    throw problem("invalid", "Request validation failed.", {
      errors: ["$.gpuIds: this listing names no GPU: name a pool or a type"],
    });
  return {
    ...containerOf(listing, chosen),
    ...(gpu && {
      gpu: { types: types!, ...present({ count: more.count, allowedCudaVersions: more.allowedCudaVersions }) },
    }),
    ...(cpu && { cpu }),
    // Pods on CPUs take network volumes only.
    ...(persistent && gpu && { mounts: { persistent } }),
    ...{ startJupyter, startSsh },
  };
}

function containerOf(listing: Listing, chosen: DeployHubListing) {
  const { title, image, args, disk, ports } = listing;
  return {
    name: chosen.name ?? title,
    image: chosen.image ?? image!,
    ...(args !== "" && { args }),
    disk: chosen.disk ?? disk,
    env: checkedEnvironment(listing, chosen),
    ports,
    ...(chosen.registry !== undefined && { registry: chosen.registry }),
  };
}

/** Whoever names GPUs gets those, also for a listing that asks for CPUs. */
function computeOf({ compute }: Pick<Listing, "compute">, { gpuIds, gpuCount }: DeployHubListing): Compute {
  if ("id" in compute && gpuIds === undefined) return { cpu: [{ ...compute }] };
  const asked = "id" in compute ? { gpuIds: null, count: 1, allowedCudaVersions: [] } : compute;
  const named = gpuIds ?? asked.gpuIds;
  const types = named === null ? undefined : typesOfGpuIds(named);
  const { allowedCudaVersions } = asked;
  return {
    gpu: { ...(types && { types }), count: gpuCount ?? asked.count, allowedCudaVersions: [...allowedCudaVersions] },
  };
}

/**
 * Adds to the terms of a public client what its release has and such a client cannot send: the start command of a program of this machine,
 * and variables with fixed values.
 */
export function filledIn(terms: EndpointTerms, listing: Listing): EndpointTerms {
  const { args, fixed, endpointType, ports } = listing;
  const { gpu, cpu } = terms;
  return {
    ...terms,
    type: terms.type === "LOAD_BALANCER" ? terms.type : endpointType,
    args: terms.args || args,
    env: { ...fixed, ...terms.env },
    ports: terms.ports?.length ? terms.ports : ports,
    ...(gpu || cpu ? {} : computeOf(listing, {})),
  };
}

/** What a newer release changes. Variables that are set keep their values; new ones get their defaults. A larger disk stays. */
export function updateOf(listing: Listing, before: { env: Record<string, string>; disk: number }) {
  const { env } = environmentOf(listing, {});
  const missing = listing.variables.filter(({ key, required }) => required && !(before.env[key] ?? env[key]));
  if (missing.length > 0)
    throw problem(
      "rule-broken",
      `The release needs variables that are not set: ${missing.map(({ key }) => key).join(", ")}.`,
    );
  return {
    ...(listing.image !== null && { image: listing.image }),
    args: listing.args,
    disk: Math.max(listing.disk, before.disk),
    ports: listing.ports,
    env: { ...env, ...before.env, ...listing.fixed },
  };
}
