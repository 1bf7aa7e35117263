/** Applies a caller's terms to a template, and refuses those that a template cannot have. */
import { problem } from "../../kernel/problem.ts";
import { unsaidOf } from "../../kernel/resource.ts";
import { commandOf } from "../container/command.ts";
import { containerMistakes, mountMistakes } from "../container/mistakes.ts";
import type { PersistentMount } from "../pods/model.ts";
import { type KeptTemplate, Template } from "./model.ts";

/** What a caller sets on a template, through any surface. A persistent mount of null removes the mount. */
export type TemplateTerms = Partial<Omit<KeptTemplate, "mounts">> & {
  mounts?: { persistent?: PersistentMount | null };
};

/** A template in which nothing is set. */
export const bareTemplate: KeptTemplate = {
  ...unsaidOf(Template),
  name: "",
  image: "",
  readme: "",
  portLabels: [],
  startScript: "",
};

export function created(terms: TemplateTerms & Pick<KeptTemplate, "name" | "image">): KeptTemplate {
  return { ...bareTemplate, ...updated(bareTemplate, terms) };
}

export function updated(before: KeptTemplate, terms: TemplateTerms): Partial<KeptTemplate> {
  const { args, entrypoint, cmd, mounts, ...plain } = terms;
  const after = { image: terms.image ?? before.image, mounts: mountsAfter(before.mounts, mounts) };
  const isMountSaid = terms.image !== undefined || mounts !== undefined;
  const symmetric = !(terms.serverless ?? before.serverless);
  const errors = [...containerMistakes(terms, { symmetric }), ...(isMountSaid ? mountMistakes(after) : [])];
  if (errors.length > 0) throw problem("invalid", "Request validation failed.", { errors });
  return { ...plain, ...commandOf({ args, entrypoint, cmd }, before), mounts: after.mounts };
}

function mountsAfter(before: KeptTemplate["mounts"], given: TemplateTerms["mounts"] = {}): KeptTemplate["mounts"] {
  const { persistent = before.persistent } = given;
  return persistent ? { persistent } : {};
}
