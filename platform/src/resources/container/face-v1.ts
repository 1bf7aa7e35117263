/** Reads the container fields of Pods and templates from REST v1, in every form that its clients are known to send. */
import type { Flat } from "../../kernel/flat.ts";
import { t } from "../../kernel/schema.ts";
import { envForm, envFrom, idForm, portsForm, portsFrom } from "./forms.ts";

const LARGEST_GB = 1_000_000;

export const takenContainer = {
  env: t.Optional({ ...envForm, description: "Environment variables: a map, or a list of `{key, value}`." }),
  ports: t.Optional({
    ...portsForm,
    description: "Ports to expose, each `port/protocol`: a list, or one text with commas.",
  }),
  containerRegistryAuthId: t.Optional({
    ...idForm,
    description: "Registry auth; the empty text, or null, means none.",
  }),
  containerDiskInGb: t.Optional(
    t.Integer({ minimum: 0, maximum: LARGEST_GB, description: "Container disk in GB; 0 says nothing of it." }),
  ),
  volumeInGb: t.Optional(
    t.Integer({ minimum: 0, maximum: LARGEST_GB, description: "Storage that stays, in GB; 0 for none." }),
  ),
};

export const shownContainer = {
  containerRegistryAuthId: t.String({ description: "Absent where it has none." }),
};

/** The same fields in the form of the flat dialect. */
export function containerFrom(body: Flat): Flat {
  const { env: variables, ports: named, containerRegistryAuthId: auth, containerDiskInGb: disk, ...plain } = body;
  return {
    ...withoutNulls(commandIn(plain)),
    ...(variables !== undefined && { env: envFrom(variables as Parameters<typeof envFrom>[0]) }),
    ...(named !== undefined && { ports: portsFrom(named as Parameters<typeof portsFrom>[0]) }),
    // Some clients always send the disk, as 0 if nobody chose a size.
    ...(disk !== undefined && disk !== 0 && { containerDiskInGb: disk }),
    ...(auth !== undefined && { containerRegistryAuthId: auth || null }),
  };
}

const withoutNulls = (flat: Flat): Flat =>
  Object.fromEntries(Object.entries(flat).filter(([, value]) => value !== null));

/** Clients send the form of the command that they do not use as empty, next to the one that they use. */
function commandIn({ dockerArgs, dockerEntrypoint, dockerStartCmd, ...plain }: Flat): Flat {
  const lists = { ...listIn("dockerEntrypoint", dockerEntrypoint), ...listIn("dockerStartCmd", dockerStartCmd) };
  const areEmpty = Object.values(lists).every((list) => list.length === 0);
  if (typeof dockerArgs !== "string") return { ...plain, ...lists };
  if (dockerArgs !== "" && areEmpty) return { ...plain, dockerArgs };
  return areEmpty
    ? { ...plain, ...lists, dockerArgs }
    : { ...plain, ...lists, ...(dockerArgs !== "" && { dockerArgs }) };
}

const listIn = (name: string, list: unknown): Record<string, unknown[]> =>
  Array.isArray(list) ? { [name]: list } : {};
