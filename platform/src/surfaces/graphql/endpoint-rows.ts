/** An endpoint as a GraphQL row, with its template and its workers. Each of these is read once for all rows. */
import type { Reason } from "../../kernel/reason.ts";
import { envPairs } from "../../resources/container/forms.ts";
import { endpointDialect } from "../../resources/endpoints/flat.ts";
import { flatEndpoint } from "../../resources/endpoints/flat-view.ts";
import { ownTemplate } from "../../resources/endpoints/own-template.ts";
import type { EndpointItem } from "../../resources/endpoints/service.ts";
import { officialTemplate } from "../../resources/templates/official.ts";
import { flatWorker, hasEnded } from "../../resources/workers/flat-view.ts";
import type { WorkerItem } from "../../resources/workers/records.ts";
import type { GraphContext } from "./context.ts";
import { FULL_POWER, gpuRows, type PodRow } from "./pod-rows.ts";
import { templateRow } from "./template-rows.ts";
import type { TemplateRow } from "./template-types.ts";
import { ownTemplates } from "./templates.ts";

export type EndpointRow = Readonly<Record<string, unknown>> & { id: string; item: EndpointItem };

export function endpointRow(item: EndpointItem): EndpointRow {
  const flat = flatEndpoint(item, item.account);
  return {
    ...endpointDialect.of(item.doc),
    ...flat,
    item,
    env: envPairs(flat.env),
    instanceIds: flat.instanceIds ?? [],
    allowedCudaVersions: flat.allowedCudaVersions.join(","),
    networkVolumeIds: flat.networkVolumes,
    hubReleaseId: item.doc.hubReleaseId ?? null,
    workersPFBTarget: 0,
    modelReferences: item.doc.modelReferences ?? [],
    compliance: [],
    workerState: [],
    webhookRequests: [],
  };
}

/** The template that the endpoint follows is the account's or an official one. If it follows none, this shows its own container. */
export async function templateOf(
  { item }: EndpointRow,
  _args: unknown,
  context: GraphContext,
): Promise<TemplateRow | null> {
  const { template, follows } = item.doc;
  if (!follows || !template) return templateRow(ownTemplate(item));
  const official = officialTemplate(template);
  return official ? templateRow(official) : ((await templatesById(context)).get(template) ?? null);
}

const templatesById = (context: GraphContext): Promise<Map<string, TemplateRow>> =>
  context.once("templates by id", async () => {
    const found = await context.performOnce("podTemplates", ownTemplates.podTemplates);
    return new Map(found.map((row) => [row.id, row]));
  });

export async function workersOf({ item }: EndpointRow, _args: unknown, context: GraphContext): Promise<PodRow[]> {
  const workers = await context.once("workers", () => context.services.workers.byEndpoint(context.caller));
  return (workers.get(item.id) ?? [])
    .filter((worker) => !hasEnded(worker))
    .map((worker) => workerRow(worker, item, context.services.workers.lossOf(worker)));
}

function workerRow(worker: WorkerItem, endpoint: EndpointItem, loss?: Reason): PodRow {
  const { id: aiApiId, account, doc } = endpoint;
  const flat = flatWorker(worker, loss);
  const { image, release } = worker.doc;
  return {
    ...flat,
    ...{ aiApiId, name: doc.name, imageName: image, slsVersion: release - 1, consumerUserId: account },
    endpoint: () => endpointRow(endpoint),
    containerDiskInGb: doc.disk,
    gpuPowerLimitPercent: FULL_POWER,
    gpus: gpuRows(flat.id, flat.gpuCount),
    volumeEncrypted: false,
  };
}
