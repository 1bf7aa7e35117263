/** Answers the REST v2 operations on endpoints, which show GPUs as pools, and compute and workers as objects. */

import { poolIds, poolOfType, typesOfPool } from "../../catalog/compute.ts";
import { timestamp } from "../../kernel/clock.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { problem } from "../../kernel/problem.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { isSame } from "../../kernel/same.ts";
import { registryId } from "../container/command.ts";
import type { GpuTerms } from "./compute.ts";
import type { EndpointTerms } from "./fields.ts";
import { without } from "./gpu-ids.ts";
import { healthPathOf } from "./listening.ts";
import { Endpoint, endpointDefaults, type KeptEndpoint, type KeptGpu } from "./model.ts";
import type { endpointOperations } from "./operations.ts";
import type { EndpointItem, EndpointService } from "./service.ts";

type Operations = typeof endpointOperations;
type Body = Call<Operations["createEndpoint"]>["body"] | Call<Operations["updateEndpoint"]>["body"];
type GpuRequest = NonNullable<Body["gpu"]>;

export function endpointHandlers(endpoints: EndpointService): Handlers<Operations> {
  const shown = (item: EndpointItem) => shownEndpoint(item, endpoints.urlOf(item.id));
  return {
    listEndpoints: ({ caller, query }) => paged("endpoints", query, (asked) => endpoints.list(caller, asked), shown),
    async createEndpoint({ caller, body }) {
      if (body.gpu && !body.gpu.pools && body.gpu.id === undefined && !body.gpu.excludedTypes)
        throw missingPools("$.gpu: one of 'pools' and 'id' is required");
      refuseIdleTimeout(body);
      return shown(await endpoints.create(caller, termsFrom(body)));
    },
    getEndpoint: async ({ caller, params }) => shown(await endpoints.own(caller, params.id!)),
    async updateEndpoint({ caller, params, body }) {
      const { doc } = await endpoints.own(caller, params.id!);
      refuseIdleTimeout(body, doc);
      return shown(await endpoints.update(caller, params.id!, termsFrom(withoutShownPools(body, doc))));
    },
    deleteEndpoint: ({ caller, params }) => endpoints.remove(caller, params.id!),
  };
}

/**
 * Refuses an idle timeout for an endpoint that idles for a fixed time, since it would have no effect. The older surfaces keep it: their
 * clients send it with everything else and compare what comes back.
 */
function refuseIdleTimeout({ workers, ...said }: Body, before?: KeptEndpoint): void {
  const type = before?.type ?? ("type" in said ? said.type : undefined) ?? endpointDefaults.type;
  const scaling = said.scaling ?? before?.scaling ?? endpointDefaults.scaling[type];
  if (workers?.idleTimeout !== undefined && !idles({ type, scaling }))
    throw problem(
      "rule-broken",
      "'workers.idleTimeout' does not apply to a QUEUE endpoint with REQUEST_COUNT scaling.",
    );
}

const idles = ({ type, scaling }: Pick<KeptEndpoint, "type" | "scaling">): boolean =>
  !(type === "QUEUE" && scaling.type === "REQUEST_COUNT");

function termsFrom({ gpu, registry, ...plain }: Body): EndpointTerms {
  return {
    ...plain,
    ...(gpu && { gpu: gpuTerms(gpu) }),
    ...(registry !== undefined && { registry: registryId(registry) }),
  };
}

function gpuTerms({ id, pools, excludedTypes, minCudaVersion, ...others }: GpuRequest): GpuTerms {
  const plain = { ...others, ...(minCudaVersion !== undefined && { minCudaVersion: minCudaVersion ?? "" }) };
  if (id !== undefined && (pools || excludedTypes))
    throw problem("rule-broken", "'gpu.id' stands alone: it cannot be combined with 'gpu.pools'.");
  if (!pools && excludedTypes) throw missingPools("$.gpu: 'excludedTypes' needs 'pools' beside it");
  const types = id === undefined ? pools && typesIn(pools, excludedTypes) : [id];
  return { ...plain, ...(types && { types }) };
}

function typesIn(pools: readonly string[], excludedTypes: readonly string[] = []): string[] {
  const offered = pools.flatMap((pool) => typesOfPool(pool) ?? unknownPool(pool));
  return without(
    excludedTypes.map((type) => type.trim()),
    offered,
    "gpu.excludedTypes",
  );
}

function unknownPool(pool: string): never {
  throw problem("rule-broken", `There is no GPU pool '${pool}'; there are ${poolIds().join(", ")}.`);
}

/** Pools cannot express the order of types. A caller who sends back the shown pools keeps the types unchanged. */
function withoutShownPools({ gpu, ...others }: Body, before: KeptEndpoint): Body {
  if (!gpu || !before.gpu || !gpu.pools) return { ...others, ...(gpu && { gpu }) };
  const { pools, excludedTypes = [] } = shownGpu(before.gpu);
  const { pools: said, excludedTypes: excluded = [], ...plain } = gpu;
  const isShown = isSame(
    [said, new Set(excluded).size, excluded.toSorted()],
    [pools, excludedTypes.length, excludedTypes.toSorted()],
  );
  return { ...others, gpu: isShown ? plain : gpu };
}

const missingPools = (error: string) => problem("invalid", "Request validation failed.", { errors: [error] });

function shownEndpoint({ id, createdAt, doc }: EndpointItem, url: string): Endpoint {
  const { gpu, workers, ...plain } = doc;
  return recordFrom(Endpoint, {
    id,
    ...plain,
    modelReferences: doc.modelReferences ?? [],
    requestUrls: requestUrls(url, doc),
    ...(gpu ? { gpu: shownGpu(gpu) } : {}),
    workers: shownWorkers(workers, idles(doc)),
    createdAt: timestamp(createdAt),
  });
}

function shownGpu({ types, count, allowedCudaVersions, minCudaVersion }: KeptGpu) {
  const pools = [...new Set(types.map((type) => poolOfType(type) ?? type))];
  const excludedTypes = pools.flatMap((pool) => typesOfPool(pool) ?? []).filter((type) => !types.includes(type));
  return { pools, count, ...(excludedTypes.length > 0 ? { excludedTypes } : {}), allowedCudaVersions, minCudaVersion };
}

/** Leaves out fields that nobody set, so that clients that do not know them see the same as before. */
function shownWorkers(
  { idleTimeout, warmup, ...plain }: KeptEndpoint["workers"],
  isIdling: boolean,
): Endpoint["workers"] {
  return { ...plain, ...(isIdling && { idleTimeout }), ...(warmup && { warmup }) };
}

function requestUrls(base: string, { type, env }: KeptEndpoint): Endpoint["requestUrls"] {
  if (type === "LOAD_BALANCER") return { base, health: `${base}${healthPathOf(env)}` };
  return {
    run: `${base}/run`,
    runSync: `${base}/runsync`,
    status: `${base}/status/{job_id}`,
    stream: `${base}/stream/{job_id}`,
    cancel: `${base}/cancel/{job_id}`,
    retry: `${base}/retry/{job_id}`,
    purgeQueue: `${base}/purge-queue`,
    health: `${base}/health`,
  };
}
