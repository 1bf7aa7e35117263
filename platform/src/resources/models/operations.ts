/** Operations on models: those of the operator, and what accounts may use. */
import type { Operations } from "../../kernel/operation.ts";
import { t } from "../../kernel/schema.ts";
import { MOST_MODELS, Model, UsableModel } from "./model.ts";

const PATH = "/v2/installation/models";
const common = { tag: "Models", status: 200, narrowed: "refused", who: "installation" } as const;
const reads = { ...common, method: "GET", scope: "account:read" } as const;
const writes = { ...common, scope: "account:write" } as const;

export const modelOperations = {
  listModels: {
    ...reads,
    path: PATH,
    summary: "List models",
    description: "Newest first, with the machines that have them.",
    out: t.Object({ models: t.Array(Model.record, { maxItems: MOST_MODELS }) }),
  },
  createModel: {
    ...writes,
    method: "POST",
    path: PATH,
    status: 201,
    summary: "Add a model",
    description:
      "Copies the files of a folder or a network volume to the machines, and is READY once the first has them all. Another model of the same " +
      "name is a newer revision: new workers see that one.",
    in: Model.create,
    out: Model.record,
    refuses: ["rule-broken", "not-found"],
  },
  getModel: { ...reads, path: `${PATH}/{id}`, summary: "Get a model", out: Model.record },
  updateModel: {
    ...writes,
    method: "PATCH",
    path: `${PATH}/{id}`,
    summary: "Change who may use a model",
    description: "Workers that have it keep it. New ones of an account that may no longer use it wait, and say so.",
    in: Model.update,
    out: Model.record,
  },
  deleteModel: {
    ...writes,
    method: "DELETE",
    path: `${PATH}/{id}`,
    status: 204,
    summary: "Delete a model",
    description: "Refused while an endpoint names it. Its files go from all machines.",
    refuses: ["rule-broken"],
  },
  listUsableModels: {
    tag: "Models",
    status: 200,
    narrowed: "refused",
    method: "GET",
    path: "/v2/catalog/models",
    scope: "catalog:read",
    summary: "List models that the account may use",
    description: "Newest first. An endpoint names them in `modelReferences`.",
    out: t.Object({ models: t.Array(UsableModel, { maxItems: MOST_MODELS }) }),
  },
} as const satisfies Operations;
