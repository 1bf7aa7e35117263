/** A template as a GraphQL row, and the translation of template inputs into the flat dialect. */
import type { Flat } from "../../kernel/flat.ts";
import { envPairs, portsText } from "../../resources/container/forms.ts";
import { templateDialect } from "../../resources/templates/flat.ts";
import type { SeenTemplate } from "../../resources/templates/followers.ts";
import { officialTemplate } from "../../resources/templates/official.ts";
import { given } from "./fields.ts";
import { containerOf, sameNames } from "./pod-inputs.ts";
import type { TemplateRow } from "./template-types.ts";

export function templateRow({ id, doc, boundTo }: SeenTemplate): TemplateRow {
  return {
    ...templateDialect.of(doc),
    id,
    env: envPairs(doc.env),
    ports: portsText(doc.ports),
    volumeInGb: doc.mounts.persistent?.size ?? 0,
    isRunpod: officialTemplate(id) !== undefined,
    boundEndpointId: boundTo ?? null,
    advancedStart: false,
  };
}

/** These fields count as not given when they are empty. */
const EMPTY_IS_NOTHING = ["imageName", "name", "ports", "volumeMountPath", "containerRegistryAuthId", "category"];

export function templateFlat(input: unknown): Flat {
  const said = given(input, ...EMPTY_IS_NOTHING);
  return given({ ...sameNames(said, templateDialect.fields), ...containerOf(said) });
}
