/** What a template gives to whatever is made from it or changed by it: a copy, taken once, in which the caller's own words win. */
import { present } from "../../kernel/present.ts";
import { commandOf } from "../container/command.ts";
import { containerOf, type KeptContainer } from "../container/model.ts";
import type { PersistentMount } from "../pods/model.ts";
import type { KeptTemplate } from "./model.ts";

/** What a caller may say that a template says too. */
export type Sayable = Partial<KeptContainer> & {
  gpu?: { allowedCudaVersions?: string[]; minCudaVersion?: string | null };
  cpu?: unknown;
  mounts?: { persistent?: PersistentMount; network?: unknown };
  startSsh?: boolean;
  startJupyter?: boolean;
};

/** A change takes what concerns the container; storage, CUDA and what is started beside are settled when something is made. */
export type Copying = "new-endpoint" | "new-pod" | "change";

export function withTemplate<T extends Sayable>(template: KeptTemplate, terms: T, copying: Copying): T {
  const container = { ...containerOf(template), ...present(terms), ...commandOf(terms, template) };
  if (copying === "change") return { ...container, env: terms.env ?? template.env };
  const made = { ...container, env: { ...template.env, ...terms.env }, ...cudaOf(template, terms) };
  if (copying === "new-endpoint") return made;
  return { ...made, ...podsOwn(template, terms) };
}

/** Either word of the caller on CUDA stands in the place of the template's. */
function cudaOf({ allowedCudaVersions }: KeptTemplate, { gpu }: Sayable): Pick<Sayable, "gpu"> {
  const isSaid = gpu?.allowedCudaVersions !== undefined || gpu?.minCudaVersion !== undefined;
  return gpu && !isSaid && allowedCudaVersions.length > 0 ? { gpu: { ...gpu, allowedCudaVersions } } : {};
}

/** A Pod without GPUs has no persistent mount; one whose caller names storage has that. */
function podsOwn({ mounts, ...template }: KeptTemplate, terms: Sayable): Partial<Sayable> {
  const { startSsh = template.startSsh, startJupyter = template.startJupyter } = terms;
  const hasOwn = terms.mounts?.persistent !== undefined || terms.mounts?.network !== undefined;
  const stored = terms.cpu !== undefined || hasOwn ? terms.mounts : mounts;
  return { startSsh, startJupyter, ...(stored && { mounts: stored }) };
}
