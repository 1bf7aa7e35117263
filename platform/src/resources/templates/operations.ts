/** Operations on templates. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { Template } from "./model.ts";

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
    description: "Changes only the fields sent. What was made from it stays as it is. `env` replaces the whole map.",
  }),
  deleteTemplate: on.remove({
    description: "Refused while an endpoint or a Pod of the account was made from it.",
    refuses: ["rule-broken"],
  }),
} satisfies Operations;
