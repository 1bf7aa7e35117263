/** The start command of a container. Callers can set it in two forms, and records show both. */
import parseArgv from "string-argv";
import { problem } from "../../kernel/problem.ts";
import { isSame } from "../../kernel/same.ts";

export type Command = { args: string; entrypoint: string[]; cmd: string[] };

interface GivenCommand {
  args?: string;
  entrypoint?: string[];
  cmd?: string[];
}

const NOTHING: Command = { args: "", entrypoint: [], cmd: [] };

/**
 * Makes one command from either form. If both are given, they must mean the same. Without either, the previous command stays. It also stays
 * if the given lists equal its own, because its text may be a shell line that would be lost.
 */
export function commandOf(given: GivenCommand, { args, entrypoint, cmd }: Command = NOTHING): Command {
  const before = { args, entrypoint, cmd };
  const byList = given.entrypoint !== undefined || given.cmd !== undefined;
  const listed = { entrypoint: given.entrypoint ?? before.entrypoint, cmd: given.cmd ?? before.cmd };
  if (given.args === undefined) {
    if (!byList || isSame(listed, { entrypoint, cmd })) return before;
    return { args: encodeCommand(listed), ...listed };
  }
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
  return parseLists(args) ?? { entrypoint: [], cmd: parseArgv(args) };
}

/** Reads `{"entrypoint":[…],"cmd":[…]}` with at least one of the two and nothing else. Any other text is a shell line. */
function parseLists(args: string): { entrypoint: string[]; cmd: string[] } | undefined {
  const parsed = parsedOrNot(args);
  if (typeof parsed !== "object" || parsed === null || Object.keys(parsed).length === 0) return undefined;
  const { entrypoint = [], cmd = [], ...rest } = parsed as { entrypoint?: unknown; cmd?: unknown };
  return isTextList(entrypoint) && isTextList(cmd) && Object.keys(rest).length === 0 ? { entrypoint, cmd } : undefined;
}

function parsedOrNot(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

export function registryId(given: null | string | { id: string }): string | null {
  return typeof given === "object" && given !== null ? given.id : given;
}
