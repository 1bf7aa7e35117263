/** Decides whether an endpoint follows its template, what ends that, and which template the endpoint shows. */
import { isSame } from "../../kernel/same.ts";
import { KEPT_CONTAINER } from "../container/model.ts";
import type { EndpointTerms } from "./fields.ts";
import type { KeptEndpoint } from "./model.ts";

/** What naming a template means for an endpoint. */
export interface Binding {
  /** The endpoint follows the named template from then on, instead of only copying it. */
  follows?: boolean;
}

/** The id of the template that the endpoint follows. Without one, the endpoint's own id stands for its own container. */
export const templateIdOf = ({ id, doc }: { id: string; doc: KeptEndpoint }): string =>
  (doc.follows && doc.template) || id;

/** Whether the terms set container fields themselves. Then the container is not the template's. */
export const saysContainer = (terms: Partial<Record<(typeof KEPT_CONTAINER)[number], unknown>>): boolean =>
  KEPT_CONTAINER.some((field) => terms[field] !== undefined);

/** Leaves out a template that the endpoint already shows, so that sending back what was read changes nothing. */
export function withoutShownTemplate(item: { id: string; doc: KeptEndpoint }, terms: EndpointTerms): EndpointTerms {
  const { templateId, ...others } = terms;
  return templateId === templateIdOf(item) ? others : terms;
}

/** Whether the endpoint still follows its template after a change. Only a change of the container or of the template ends that. */
export function bindingAfter(before: KeptEndpoint, set: Partial<KeptEndpoint>, bound: Binding): Binding {
  if (bound.follows) return bound;
  if (!before.follows) return {};
  const after = { ...before, ...set };
  const stays = [...KEPT_CONTAINER, "template" as const].every((field) => isSame(after[field], before[field]));
  return stays ? {} : { follows: false };
}
