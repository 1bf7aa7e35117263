/** Answers the REST v1 operations on endpoints. */
import type { Caller } from "../../kernel/caller.ts";
import { unpaged } from "../../kernel/cursor.ts";
import type { Flat } from "../../kernel/flat.ts";
import { inFlatWords } from "../../kernel/flat-words.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { isProblem } from "../../kernel/problem.ts";
import { allows } from "../../kernel/scope.ts";
import { shownTemplate } from "../templates/rest-v1.ts";
import type { TemplateService } from "../templates/service.ts";
import type { WorkerPods } from "../workers/pods-v1.ts";
import { changedEndpointTerms, newEndpointTerms } from "./body-v1.ts";
import { endpointDialect } from "./flat.ts";
import { flatEndpoint } from "./flat-view.ts";
import { type endpointOperationsV1, endpointShapes } from "./operations-v1.ts";
import { ownTemplate } from "./own-template.ts";
import type { EndpointItem, EndpointService } from "./service.ts";

type Operations = typeof endpointOperationsV1;
type Including = Call<Operations["getEndpoint"]>["query"];

export interface EndpointPartsV1 {
  endpoints: EndpointService;
  templates: TemplateService;
  workerPods: WorkerPods;
}

const HOW = { follows: true, uniqueName: true };

export function endpointHandlersV1(parts: EndpointPartsV1): Handlers<Operations> {
  const { endpoints } = parts;
  const update = inFlatWords(endpointDialect.fields, async (call: Call<Operations["updateEndpoint"]>) => {
    const { caller, params, body } = call;
    const { doc } = await endpoints.own(caller, params.endpointId!);
    return shown(await endpoints.update(caller, params.endpointId!, changedEndpointTerms(body, doc), HOW));
  });
  return {
    async listEndpoints({ caller, query }) {
      const own = await unpaged((asked) => endpoints.list(caller, asked));
      return allShown(parts, caller, query, own);
    },
    createEndpoint: inFlatWords(endpointDialect.fields, async ({ caller, body }: Call<Operations["createEndpoint"]>) =>
      shown(await endpoints.create(caller, newEndpointTerms(body), HOW)),
    ),
    async getEndpoint({ caller, params, query }) {
      return (await allShown(parts, caller, query, [await endpoints.own(caller, params.endpointId!)]))[0]!;
    },
    updateEndpoint: update,
    updateEndpointByPost: update,
    deleteEndpoint: ({ caller, params }) => endpoints.remove(caller, params.endpointId!),
  };
}

/** Leaves out fields that the endpoint does not have. */
function shown(item: EndpointItem): Flat {
  const { id, userId, createdAt, templateId, version, computeType, env, ...view } = flatEndpoint(item, item.account);
  const { gpuCount, networkVolumeId, flashboot, scalerValue } = view;
  return {
    ...endpointShapes.of(item.doc),
    ...{ id, userId, createdAt, templateId, version, computeType, env, gpuCount, flashboot, scalerValue },
    ...(networkVolumeId !== null && { networkVolumeId }),
  };
}

/** Adds what the query includes. Each part is read once for all endpoints. */
async function allShown(
  { templates, workerPods }: EndpointPartsV1,
  caller: Caller,
  { includeTemplate, includeWorkers }: Including,
  items: readonly EndpointItem[],
): Promise<Flat[]> {
  const workers = includeWorkers ? await workerPods.of(items, {}) : undefined;
  const templateOf = includeTemplate ? await followed(templates, caller, items) : undefined;
  return items.map((item) => {
    const record = shown(item);
    const template = templateOf && shownTemplate(templateOf.get(record.templateId as string) ?? ownOf(item, record));
    return { ...record, ...(template && { template }), ...(workers && { workers: workers.get(item.id) ?? [] }) };
  });
}

/** The endpoint's own configuration, under the id that it shows as its template. */
const ownOf = (item: EndpointItem, { templateId }: Flat) => ({ ...ownTemplate(item), id: templateId as string });

/**
 * The templates that these endpoints follow, if the caller may read templates. The other endpoints show their own configuration as a
 * template, which reveals nothing that the endpoint itself does not show.
 */
async function followed(templates: TemplateService, caller: Caller, items: readonly EndpointItem[]) {
  if (caller.endpoints || !allows(caller.grants, "templates:read")) return new Map<string, never>();
  const ids = items.flatMap(({ doc }) => (doc.follows && doc.template) || []);
  const found = new Map<string, Awaited<ReturnType<TemplateService["visible"]>>>();
  for (const id of new Set(ids)) {
    const template = await templates.visible(caller, id).catch((error: unknown) => {
      if (!isProblem(error, "not-found")) throw error;
      return undefined;
    });
    if (template) found.set(id, template);
  }
  return found;
}
