/** Shows and edits the own container of an endpoint that follows no template as a template. Nothing is stored for it. */
import { problem } from "../../kernel/problem.ts";
import { isSame } from "../../kernel/same.ts";
import { containerOf, KEPT_CONTAINER } from "../container/model.ts";
import { bareTemplate, type TemplateTerms, updated } from "../templates/fields.ts";
import type { SeenTemplate } from "../templates/followers.ts";
import type { KeptTemplate } from "../templates/model.ts";
import type { EndpointTerms } from "./fields.ts";
import type { KeptEndpoint } from "./model.ts";

interface Seen {
  id: string;
  doc: KeptEndpoint;
}

export function ownTemplate({ id, doc }: Seen): SeenTemplate {
  const called = { name: doc.templateName ?? doc.name, category: doc.cpu ? "CPU" : "NVIDIA" } as const;
  const none = { serverless: true, startSsh: false, startJupyter: false };
  return { id, boundTo: id, doc: { ...bareTemplate, ...called, ...none, ...containerOf(doc) } };
}

/**
 * Translates an edit of the template into terms of the endpoint. The endpoint cannot keep the other fields of a template, so those must not
 * change.
 */
export function termsOfOwn(item: Seen, terms: TemplateTerms): EndpointTerms {
  const { doc: before } = ownTemplate(item);
  const after = { ...before, ...updated(before, terms) };
  const lost = (Object.keys(after) as (keyof KeptTemplate)[]).find(
    (field) => !isKept(field) && !isSame(after[field], before[field]),
  );
  if (lost !== undefined) {
    const whose = `This template is the own configuration of endpoint '${item.doc.name}' (${item.id})`;
    throw problem("rule-broken", `${whose}, which has no '${lost}' to change.`);
  }
  const said = KEPT_CONTAINER.filter((field) => terms[field] !== undefined);
  const container = Object.fromEntries(said.map((field) => [field, terms[field]]));
  return { ...container, ...(terms.name !== undefined && { templateName: terms.name }) };
}

const isKept = (field: string) => field === "name" || (KEPT_CONTAINER as readonly string[]).includes(field);
