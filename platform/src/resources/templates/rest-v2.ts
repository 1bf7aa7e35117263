/** Answers the REST v2 operations on templates. */

import type { Call, Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { registryId } from "../container/command.ts";
import type { SeenTemplate } from "./followers.ts";
import { Template } from "./model.ts";
import type { templateOperations } from "./operations.ts";
import type { TemplateService } from "./service.ts";

type Operations = typeof templateOperations;
type Body = Call<Operations["createTemplate"]>["body"] | Call<Operations["updateTemplate"]>["body"];

export const templateHandlers = (templates: TemplateService): Handlers<Operations> => ({
  listTemplates: ({ caller, query }) => paged("templates", query, (asked) => templates.list(caller, asked), shown),
  createTemplate: async ({ caller, body }) => shown(await templates.create(caller, termsFrom(body))),
  getTemplate: async ({ caller, params }) => shown(await templates.visible(caller, params.id!)),
  updateTemplate: async ({ caller, params, body }) =>
    shown(await templates.update(caller, params.id!, termsFrom(body))),
  deleteTemplate: ({ caller, params }) => templates.remove(caller, params.id!),
  listPublicTemplates: async ({ caller, query }) => ({
    templates: (await templates.listPublic(caller, query.source ?? "official")).map(shown),
    pagination: { nextCursor: null, hasNextPage: false },
  }),
});

function termsFrom<B extends Body>({ registry, ...plain }: B) {
  return { ...plain, ...(registry !== undefined && { registry: registryId(registry) }) };
}

/** Leaves out the fields that only other surfaces have. */
const shown = ({ id, doc }: SeenTemplate): Template => recordFrom(Template, { id, ...doc });
