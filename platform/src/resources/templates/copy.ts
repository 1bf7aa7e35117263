/** Copies a template into what is made or changed with it. Where the caller sets a field too, the caller's value wins. */
import { present } from "../../kernel/present.ts";
import { commandOf } from "../container/command.ts";
import { containerOf, type KeptContainer } from "../container/model.ts";
import type { PersistentMount } from "../pods/model.ts";
import type { KeptTemplate } from "./model.ts";

/** The fields that both a caller and a template can set. */
export type Sayable = Partial<KeptContainer> & {
  gpu?: { allowedCudaVersions?: string[]; minCudaVersion?: string | null };
  cpu?: unknown;
  mounts?: { persistent?: PersistentMount; network?: { volumeId: string; path: string }[] };
  mountPath?: string;
  isDefaultPath?: boolean;
  startSsh?: boolean;
  startJupyter?: boolean;
};

/** A change copies only the container. Storage, CUDA versions, SSH and Jupyter are settled when something is created. */
export type Copying = "new-endpoint" | "new-pod" | "change";

export function withTemplate<T extends Sayable>(template: KeptTemplate, terms: T, copying: Copying): T {
  const container = { ...containerOf(template), ...present(terms), ...commandOf(terms, template) };
  if (copying === "change") return { ...container, env: terms.env ?? template.env };
  const made = { ...container, env: { ...template.env, ...terms.env }, ...cudaOf(template, terms) };
  if (copying === "new-endpoint") return made;
  return { ...made, ...podsOwn(template, terms) };
}

/** If the caller sets either CUDA field, the template's CUDA versions are ignored. */
function cudaOf({ allowedCudaVersions }: KeptTemplate, { gpu }: Sayable): Pick<Sayable, "gpu"> {
  const isSaid = gpu?.allowedCudaVersions !== undefined || gpu?.minCudaVersion !== undefined;
  return gpu && !isSaid && allowedCudaVersions.length > 0 ? { gpu: { ...gpu, allowedCudaVersions } } : {};
}

function podsOwn({ mounts, ...template }: KeptTemplate, terms: Sayable): Partial<Sayable> {
  const { startSsh = template.startSsh, startJupyter = template.startJupyter } = terms;
  return { startSsh, startJupyter, ...storageOf(mounts, terms) };
}

/**
 * A Pod without GPUs gets no persistent mount from the template, and neither does one whose caller names storage. Storage that is named
 * without a path is mounted where the template's would be, and a path that is named alone moves the template's.
 */
function storageOf({ persistent: copied }: KeptTemplate["mounts"], terms: Sayable): Partial<Sayable> {
  const { mounts: own, cpu, mountPath, isDefaultPath = false } = terms;
  if (own?.persistent !== undefined || own?.network !== undefined)
    return { mounts: isDefaultPath && copied ? movedTo(copied.path, own) : own };
  if (cpu !== undefined || !copied) return own ? { mounts: own } : {};
  const mounts = movedTo(mountPath ?? copied.path, { persistent: copied });
  return { mounts, ...(mountPath !== undefined && { mountPath: undefined }) };
}

const movedTo = (path: string, { persistent, network }: NonNullable<Sayable["mounts"]>): Sayable["mounts"] => ({
  ...(persistent && { persistent: { ...persistent, path } }),
  ...(network && { network: network.map(({ volumeId }) => ({ volumeId, path })) }),
});
