/** Answers the REST v2 operations on models. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { SHARED_STORAGE } from "../volumes/model.ts";
import { type KeptSource, Model, type ModelCopy, pathOf, type UsableModel } from "./model.ts";
import type { modelOperations } from "./operations.ts";
import type { CopyItem, ModelItem } from "./records.ts";
import { fillingReason, type ModelService } from "./service.ts";

export function modelHandlers(models: ModelService): Handlers<typeof modelOperations> {
  const shown = async (item: ModelItem) => shownModel(item, await models.copiesOf(item.id));
  return {
    listModels: async () => ({ models: await Promise.all((await models.list()).map(shown)) }),
    createModel: async ({ caller, body }) => shown(await models.create(caller, body)),
    getModel: async ({ params }) => shown(await models.get(params.id!)),
    updateModel: async ({ params, body }) => shown(await models.update(params.id!, body)),
    deleteModel: ({ params }) => models.remove(params.id!),
    listUsableModels: async ({ caller }) => ({ models: (await models.usable(caller)).map(usableForm) }),
  };
}

function shownModel(item: ModelItem, copies: readonly CopyItem[]): Model {
  const { id, createdAt, doc } = item;
  const { state, reason: told, found, asked, source, ...given } = doc;
  const reason = state === "FILLING" ? fillingReason(item, copies) : told;
  return recordFrom(Model, {
    ...{ ...given, id, status: state, statusReason: reason?.text ?? null, statusReasonCode: reason?.code ?? null },
    ...{ revision: found?.revision ?? asked ?? null, size: found?.bytes ?? null, files: found?.files ?? null },
    ...{ source: sourceText(source), copies: copies.map(shownCopy), createdAt: timestamp(createdAt) },
  });
}

const shownCopy = ({ doc: { holder, state, reason, bytes } }: CopyItem): ModelCopy => ({
  ...{ machine: holder === SHARED_STORAGE ? null : holder, status: state, bytes },
  ...{ statusReason: reason?.text ?? null, statusReasonCode: reason?.code ?? null },
});

const sourceText = (source: KeptSource) =>
  "folder" in source ? `folder ${source.folder}` : `network volume ${source.volume}, folder /${source.path}`;

/** Accounts do not learn where the files come from, nor the paths that a reason names. */
const usableForm = ({ doc: { name, state, found, asked } }: ModelItem): UsableModel => ({
  ...{
    name,
    revision: found?.revision ?? asked ?? null,
    status: state,
    size: found?.bytes ?? null,
    path: pathOf(name),
  },
  statusReason: state === "FAILED" ? "its files could not be copied: ask the operator" : null,
});
