/** Answers the REST v1 operations on Pods. */
import type { Caller } from "../../kernel/caller.ts";
import { unpaged } from "../../kernel/cursor.ts";
import type { Flat } from "../../kernel/flat.ts";
import { inFlatWords } from "../../kernel/flat-words.ts";
import { JsonText } from "../../kernel/json-text.ts";
import type { Call, Handlers, Operation } from "../../kernel/operation.ts";
import { SHOWN_IN_A_TURN } from "../../kernel/page.ts";
import { isProblem, problem } from "../../kernel/problem.ts";
import { allows } from "../../kernel/scope.ts";
import { mappedInSlices } from "../../kernel/slices.ts";
import { shownTemplate } from "../templates/rest-v1.ts";
import type { TemplateService } from "../templates/service.ts";
import { shown as shownVolume } from "../volumes/rest-v1.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";
import type { WorkerPods } from "../workers/pods-v1.ts";
import { changedPodTerms, newPodTerms } from "./body-v1.ts";
import { podDialect } from "./flat.ts";
import { podFilters, type podOperationsV1 } from "./operations-v1.ts";
import { podRecord } from "./record-v1.ts";
import type { PodItem } from "./records.ts";
import type { PodService } from "./service.ts";
import { addPodText } from "./text-v1.ts";
import type { PodViews } from "./view.ts";

type Operations = typeof podOperationsV1;
type Query = Call<Operations["listPods"]>["query"];

export interface PodPartsV1 {
  pods: PodService;
  podViews: PodViews;
  templates: TemplateService;
  volumes: NetworkVolumeService;
  workerPods: WorkerPods;
}

export function podHandlersV1(parts: PodPartsV1): Handlers<Operations> {
  const { pods, podViews } = parts;
  const shown = (item: PodItem) => podRecord(item, podViews, {});
  const idOf = ({ params }: Pick<Call<Operation>, "params">) => params.podId!;
  const update = inFlatWords(podDialect.fields, async (call: Call<Operations["updatePod"]>) => {
    const { doc } = await pods.own(call.caller, idOf(call));
    const terms = changedPodTerms(call.body, doc);
    return shown(await pods.update(call.caller, idOf(call), terms, { uniqueName: true }));
  });
  const start = async (call: Call<Operations["startPod"]>) =>
    shown((await roomFor("start pod", pods.act(call.caller, idOf(call), "start", { waits: false })))!);
  return {
    async listPods({ caller, query }) {
      requireIncluded(caller, query);
      const own = await unpaged((asked) => pods.list(caller, { ...asked, includeClusterPods: false }));
      if (isPlain(query)) return new JsonText(await textOf(own, podViews));
      const records = await allShown(parts, caller, query, own);
      const workers = query.includeWorkers ? await parts.workerPods.all(caller, query) : [];
      return newestFirst([...records, ...workers]).filter(isAskedFor(query));
    },
    createPod: inFlatWords(podDialect.fields, async ({ caller, body }: Call<Operations["createPod"]>) => {
      const naming = { uniqueName: true, isDefaultName: body.name === undefined };
      return shown(await roomFor("create pod", pods.create(caller, newPodTerms(body), naming)));
    }),
    async getPod({ caller, params, query }) {
      requireIncluded(caller, query);
      const worker = query.includeWorkers && (await parts.workerPods.find(caller, params.podId!, query));
      if (worker) return worker;
      return (await allShown(parts, caller, query, [await pods.own(caller, params.podId!)]))[0]!;
    },
    updatePod: update,
    updatePodByPost: update,
    deletePod: (call) => pods.remove(call.caller, idOf(call)),
    startPod: start,
    resumePod: start,
    stopPod: async (call) => shown(await pods.stop(call.caller, idOf(call))),
    restartPod: async (call) => shown((await pods.act(call.caller, idOf(call), "restart"))!),
    resetPod: async (call) => shown(await pods.reset(call.caller, idOf(call))),
  };
}

/** The scopes that a caller needs for including these in the answer, the same as for reading them directly. */
const inclusions = {
  includeNetworkVolume: "network-volumes:read",
  includeTemplate: "templates:read",
  includeWorkers: "serverless:read",
} as const;

function requireIncluded({ grants }: Caller, query: Partial<Query>): void {
  for (const [name, scope] of Object.entries(inclusions))
    if (query[name as keyof typeof inclusions] && !allows(grants, scope))
      throw problem("not-allowed", `This API key lacks the scope '${scope}', which '${name}' needs.`);
}

/** Nothing is included or filtered. */
const isPlain = (query: Query) => Object.values(query).every((value) => value === undefined || value === false);

async function textOf(own: readonly PodItem[], views: PodViews): Promise<string> {
  const text = ["["];
  await mappedInSlices(own, SHOWN_IN_A_TURN, (item) => {
    if (text.length > 1) text.push(",");
    addPodText(item, views, text);
  });
  return text.concat("]").join("");
}

const newestFirst = (records: Flat[]): Flat[] =>
  records.toSorted((a, b) => (String(b.createdAt) < String(a.createdAt) ? -1 : b.createdAt === a.createdAt ? 0 : 1));

/** Adds what the query includes. Each part is read once for all Pods. */
async function allShown(
  { podViews, templates, volumes }: PodPartsV1,
  caller: Caller,
  query: Partial<Query>,
  items: readonly PodItem[],
): Promise<Flat[]> {
  const mounted = query.includeNetworkVolume ? await volumes.list(caller) : [];
  const volumeOf = new Map(mounted.map((volume) => [volume.id, shownVolume(volume)]));
  const made = query.includeTemplate ? items.flatMap(({ doc }) => doc.template ?? []) : [];
  const templateOf = new Map<string, Flat>();
  for (const id of new Set(made)) {
    const found = await templates.visible(caller, id).catch(unlessMissing);
    if (found) templateOf.set(id, shownTemplate(found));
  }
  return mappedInSlices(items, SHOWN_IN_A_TURN, (item) => {
    const { template, mounts } = item.doc;
    const networkVolume = volumeOf.get(mounts.network?.[0]?.volumeId ?? "");
    const from = templateOf.get(template ?? "");
    const record = podRecord(item, podViews, query);
    if (!networkVolume && !from) return record;
    return { ...record, ...(networkVolume && { networkVolume }), ...(from && { template: from }) };
  });
}

/** The template or volume of a Pod may have been deleted since. */
function unlessMissing(error: unknown): undefined {
  if (!isProblem(error, "not-found")) throw error;
  return undefined;
}

/** The filters of the query are read once for all records. */
function isAskedFor(query: Partial<Query>): (record: Flat) => boolean {
  const asked = Object.keys(podFilters).map((name) => {
    const values = [query[name as keyof typeof podFilters] ?? []].flat();
    return { name, values: values.filter((value) => value !== "") };
  });
  // An empty filter does not filter anything.
  const filters = asked.filter(({ values }) => values.length > 0);
  return (record) => filters.every(({ name, values }) => values.includes(record[name] as string));
}

const NO_ROOM = "There are no instances currently available";

/** Clients know the beginning of this text, and then try another GPU type or cloud. The reason follows it. */
async function roomFor<T>(what: string, done: Promise<T>): Promise<T> {
  try {
    return await done;
  } catch (error) {
    if (!isProblem(error) || (error.code !== "no-capacity" && error.reason !== "gpu-not-offered")) throw error;
    throw problem("no-capacity", `${what}: ${NO_ROOM}. ${error.detail}`, { cause: error, reason: error.reason });
  }
}
