/** The start command of a container, which may be given in two ways and is shown in both. */
import parseArgv from "string-argv";
import { problem } from "../../kernel/problem.ts";

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
