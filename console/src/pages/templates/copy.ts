/** What a new template begins with, when it is made from another one. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { models } from "../../api/models.data.ts";
import type { Values } from "../../forms/schema-form.tsx";

/** The fields of a template that a creation takes, under a name of its own, and private. */
export function copyOf(template: Template): Values {
  const taken = Object.keys(models.templates.create.properties);
  const said = Object.entries(template).filter(([name, value]) => taken.includes(name) && !isUnsaid(value));
  return { ...Object.fromEntries(said), name: `${template.name} copy`, public: false };
}

/** Empty fields are left out: they mean the same, and would only fill the form. */
const isUnsaid = (value: unknown) =>
  value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
