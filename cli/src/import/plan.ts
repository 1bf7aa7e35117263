/** Decides what an import does with each thing of the source, from what both sides have. It changes nothing. */
import { isSame } from "@millrace/platform/kernel/same.ts";
import { type Account, type Definition, type Fields, isFields, type Kind, kinds } from "./definition.ts";
import { bodiesFromV2 } from "./v2.ts";

/** `same`: it is here already. `differs`: something else has the name here, and stays. `left`: it cannot be carried over. */
export type Action = "create" | "finish" | "same" | "differs" | "left";

export interface Step {
  kind: Kind;
  name: string;
  action: Action;
  /** Why it is left, or in which fields it differs. */
  why?: string;
  definition?: Definition;
  /** Its id here, where it exists. */
  here?: string;
}

export type Here = Record<Kind, Fields[]>;

/** A Pod has this behind its name until it was stopped, so that a broken import is seen and finished. */
const UNFINISHED = " (import unfinished)";
const LONGEST_NAME = 191;

export const unfinishedName = (name: string): string => name.slice(0, LONGEST_NAME - UNFINISHED.length) + UNFINISHED;

export function planned({ definitions, unreadable }: Account, here: Here, only: readonly Kind[]): Step[] {
  const wanted = kinds.filter((kind) => only.includes(kind));
  const steps = wanted.flatMap((kind) => {
    const ours = definitions.filter((one) => one.kind === kind);
    return ours.map((definition) => stepFor(definition, ours, here, definitions));
  });
  const left = unreadable
    .filter(({ kind }) => only.includes(kind))
    .map(({ kind, name, why }): Step => ({ kind, name, action: "left", why }));
  return [...steps, ...left];
}

function stepFor(definition: Definition, ours: readonly Definition[], here: Here, all: readonly Definition[]): Step {
  const { kind, name } = definition;
  const step = { kind, name, definition };
  const twins = ours.filter((one) => isNamed(kind, one.name, name)).length;
  if (twins > 1) return { ...step, action: "left", why: `${twins} have this name at the source: rename all but one` };
  const known = here[kind].filter((record) => isNamed(kind, record.name, name));
  if (known.length > 1)
    return { ...step, action: "left", why: `${known.length} have this name here: rename all but one` };
  const id = String(known[0]?.id);
  if (known[0]) {
    const fields = differing(definition, known[0], here, all);
    if (fields.length === 0) return { ...step, action: "same", here: id };
    return { ...step, action: "differs", here: id, why: `${fields.join(", ")}; the one here stays` };
  }
  const begun = kind === "pods" ? here.pods.find((record) => record.name === unfinishedName(name)) : undefined;
  return begun ? { ...step, action: "finish", here: String(begun.id) } : { ...step, action: "create" };
}

/** Names of secrets are the same in small and capital letters. */
const isNamed = (kind: Kind, one: unknown, name: string) =>
  typeof one === "string" && (kind === "secrets" ? one.toLowerCase() === name.toLowerCase() : one === name);

/** Values of credentials can be read on neither side, so only their names count. */
function differing(definition: Definition, record: Fields, here: Here, all: readonly Definition[]): string[] {
  const { kind, body } = definition;
  if (kind === "secrets" || kind === "registries") return [];
  const mine = bodiesFromV2[kind](record);
  const said = withIds(body, (of, id) => idHere(of, id, all, here) ?? "");
  return Object.keys(said).filter((field) => !isSame(said[field], mine[field]) && !isGrown(kind, field, said, mine));
}

/** A volume may have grown here. */
const isGrown = (kind: Kind, field: string, said: Fields, mine: Fields) =>
  kind === "volumes" && field === "size" && Number(mine.size) > Number(said.size);

/** The id here of a registry or volume that the source knows by another id, if it exists here. */
export function idHere(kind: Kind, id: string, all: readonly Definition[], here: Here): string | undefined {
  const name = all.find((one) => one.kind === kind && one.id === id)?.name;
  if (name === undefined) return undefined;
  const known = here[kind].filter((record) => isNamed(kind, record.name, name));
  return known.length === 1 ? String(known[0]!.id) : undefined;
}

/** The body with other ids of the registry and the volumes that it names. */
export function withIds(body: Fields, idOf: (kind: Kind, id: string) => string): Fields {
  const { registry, networkVolumes, mounts } = body;
  return {
    ...body,
    ...(typeof registry === "string" && { registry: idOf("registries", registry) }),
    ...(Array.isArray(networkVolumes) && { networkVolumes: networkVolumes.map((id) => idOf("volumes", String(id))) }),
    ...(isFields(mounts) &&
      Array.isArray(mounts.network) && { mounts: { ...mounts, network: placed(mounts.network) } }),
  };

  function placed(network: readonly Fields[]): Fields[] {
    return network.map((mount) => ({ ...mount, volumeId: idOf("volumes", String(mount.volumeId)) }));
  }
}
