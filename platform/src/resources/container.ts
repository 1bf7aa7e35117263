/** The container fields that Pods, endpoints and templates share, with their two ways of giving a command. */
import parseArgv from "string-argv";
import { problem } from "../kernel/problem.ts";
import { nullable, t } from "../kernel/schema.ts";

export const registryReference = t.Union([
  t.Null(),
  t.String({ minLength: 1 }),
  t.Object({ id: t.String({ minLength: 1 }) }, { additionalProperties: false }),
]);

/** As a caller sends them. */
export const containerFields = {
  image: t.Optional(
    t.String({ minLength: 1, description: "Container image with tag, or `host:/abs/dir`.", "x-flat": "imageName" }),
  ),
  args: t.Optional(
    t.String({
      description: 'Start command as one text: a shell line, or `{"entrypoint":[…],"cmd":[…]}`. Empty clears it.',
      "x-flat": "dockerArgs",
    }),
  ),
  entrypoint: t.Optional(t.Array(t.String(), { description: "Exec-form ENTRYPOINT; an empty list clears it." })),
  cmd: t.Optional(t.Array(t.String(), { description: "Exec-form CMD; an empty list clears it." })),
  disk: t.Optional(t.Integer({ minimum: 1, description: "Container disk in GB.", "x-flat": "containerDiskInGb" })),
  env: t.Optional(
    t.Record(t.String({ pattern: "^[^=\\u0000]+$" }), t.String(), {
      description: "Environment variables. Values may hold `{{ MILLRACE_SECRET_<name> }}`.",
      additionalProperties: false,
    }),
  ),
  ports: t.Optional(
    t.Array(t.String({ pattern: "^([1-9]\\d{0,4})/(http|tcp)$" }), {
      description: "Ports to expose, each `port/protocol`.",
    }),
  ),
  registry: t.Optional({
    ...registryReference,
    description: "Registry credential: an id, `{id}`, or null.",
    "x-flat": "containerRegistryAuthId",
  }),
};

/** As records show them: always all of them. */
export const shownContainerFields = {
  image: t.String({ description: "Container image with tag." }),
  args: t.String({ description: "Start command as one text." }),
  entrypoint: t.Array(t.String()),
  cmd: t.Array(t.String()),
  disk: t.Integer({ description: "Container disk in GB." }),
  env: t.Record(t.String(), t.String()),
  ports: t.Array(t.String()),
  registry: nullable(t.String({ description: "Registry credential id." })),
};

export type Command = { args: string; entrypoint: string[]; cmd: string[] };

interface GivenCommand {
  args?: string;
  entrypoint?: string[];
  cmd?: string[];
}

/** One command from either form; both together must say the same. Undefined when the request says nothing of it. */
export function commandOf(given: GivenCommand, before: Command = { args: "", entrypoint: [], cmd: [] }): Command {
  const byList = given.entrypoint !== undefined || given.cmd !== undefined;
  const listed = { entrypoint: given.entrypoint ?? before.entrypoint, cmd: given.cmd ?? before.cmd };
  if (given.args === undefined) return byList ? { args: encodeCommand(listed), ...listed } : before;
  const parsed = parseArgs(given.args);
  if (byList && encodeCommand(listed) !== encodeCommand(parsed)) {
    throw problem("rule-broken", "'args' and 'entrypoint'/'cmd' describe different commands; send one of them.");
  }
  return { args: given.args, ...parsed };
}

function encodeCommand({ entrypoint, cmd }: { entrypoint: string[]; cmd: string[] }): string {
  return entrypoint.length + cmd.length === 0 ? "" : JSON.stringify({ entrypoint, cmd });
}

function parseArgs(args: string): { entrypoint: string[]; cmd: string[] } {
  if (args.trim() === "") return { entrypoint: [], cmd: [] };
  try {
    const { entrypoint = [], cmd = [] } = JSON.parse(args) as { entrypoint?: unknown; cmd?: unknown };
    if (isTextList(entrypoint) && isTextList(cmd)) return { entrypoint, cmd };
  } catch {
    // A shell line, then.
  }
  return { entrypoint: [], cmd: parseArgv(args) };
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

export function registryId(given: null | string | { id: string }): string | null {
  return typeof given === "object" && given !== null ? given.id : given;
}
