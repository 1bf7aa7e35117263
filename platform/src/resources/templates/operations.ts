/** Operations on templates, and the catalog of public ones. */

import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { Pagination } from "../../kernel/page.ts";
import { oneOf, t } from "../../kernel/schema.ts";
import { Template, templateSources } from "./model.ts";

const on = operationsOn(Template, "/v2/templates", {
  tag: "Templates",
  scope: "templates",
  one: "a template",
  many: "templates",
});

export const templateOperations = {
  listTemplates: on.list({ description: "The account's own, newest first." }),
  createTemplate: on.create({ description: "Names are unique in the account.", refuses: ["not-found"] }),
  getTemplate: on.get({ description: "One of the account's own, or a public one." }),
  updateTemplate: on.update({
    description:
      "Changes only the fields that you send. Pods and endpoints made from it are unchanged. `env` replaces the whole map.",
  }),
  deleteTemplate: on.remove({
    description: "Refused while an endpoint or a Pod of the account was made from it.",
    refuses: ["rule-broken"],
  }),
  listPublicTemplates: {
    method: "GET",
    path: "/v2/catalog/templates",
    summary: "List public templates",
    description:
      "Those that the caller may run, 100 at most: `official` ones come with Millrace, `verified` ones are the public ones of the " +
      "installation's owner, `community` ones those of all other accounts.",
    tag: "Catalog",
    status: 200,
    scope: "catalog:read",
    narrowed: "refused",
    query: t.Object({ source: t.Optional(oneOf(templateSources, { default: "official" })) }),
    out: t.Object({ templates: t.Array(Template.record), pagination: Pagination }),
  },
} satisfies Operations;
