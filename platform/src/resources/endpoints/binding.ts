/** Whether an endpoint follows its template: what binds it, what ends that, and which template it then shows. */
import { isSame } from "../../kernel/same.ts";
import { KEPT_CONTAINER } from "../container/model.ts";
import type { EndpointTerms } from "./fields.ts";
import type { KeptEndpoint } from "./model.ts";

/** How what a caller says of an endpoint's template is meant. */
export interface Binding {
  /** A template that is named is followed from then on, and not only copied. */
  follows?: boolean;
}

/** The template that it follows, or its own container under its own id. */
export const templateIdOf = ({ id, doc }: { id: string; doc: KeptEndpoint }): string =>
  (doc.follows && doc.template) || id;

/** Whether terms say something of the container themselves: then it is no template's. */
export const saysContainer = (terms: Partial<Record<(typeof KEPT_CONTAINER)[number], unknown>>): boolean =>
  KEPT_CONTAINER.some((field) => terms[field] !== undefined);

/** Without a template that is the one it has: who sends back what was shown changes nothing by that. */
export function withoutShownTemplate(item: { id: string; doc: KeptEndpoint }, terms: EndpointTerms): EndpointTerms {
  const { templateId, ...others } = terms;
  return templateId === templateIdOf(item) ? others : terms;
}

/** What a change makes of the binding. Nothing but the container, or another template, ends it. */
export function bindingAfter(before: KeptEndpoint, set: Partial<KeptEndpoint>, bound: Binding): Binding {
  if (bound.follows) return bound;
  if (!before.follows) return {};
  const after = { ...before, ...set };
  const stays = [...KEPT_CONTAINER, "template" as const].every((field) => isSame(after[field], before[field]));
  return stays ? {} : { follows: false };
}
