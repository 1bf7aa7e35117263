/** Starts a program that outlives this process, or runs a tool to its end. The server uses it, or its small helper (`forker.ts`). */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { Descriptors } from "./descriptors.ts";
import { inheritedDescriptors } from "./processes.ts";
import { TOOL_ENVIRONMENT } from "./tools.ts";

/** An input of a program: a text that only its owner can read, or a file. */
export type Given = { text: string; owner?: number | undefined } | { path: string };

export interface Program {
  command: readonly string[];
  cwd: string;
  /** Each input, with the number of its descriptor. */
  given: readonly (readonly [fd: number, what: Given])[];
  /** The name of short-lived files in memory, a place that all installations share. */
  name: string;
}

export interface Started {
  pid: number;
  /** Resolves when the program has ended. Never resolves once the process that started it is gone. */
  ended: Promise<unknown>;
}

export interface Tool {
  file: string;
  args: readonly string[];
  input?: string | undefined;
}

export async function startProgram({ command, cwd, given, name }: Program): Promise<Started> {
  const covered = await inheritedDescriptors();
  using files = new Descriptors();
  const opened = new Map(
    given.map(([fd, what]) => [
      fd,
      "path" in what ? files.open(what.path, "r") : files.nameless(what.text, what.owner, name),
    ]),
  );
  const child = spawn(command[0]!, command.slice(1), {
    detached: true,
    cwd,
    env: TOOL_ENVIRONMENT,
    stdio: cover(opened, covered, files.open("/dev/null", "r")),
  });
  // The awaits below receive their own errors. This listener covers the time before and after.
  child.on("error", () => {});
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await once(child, "spawn");
  child.unref();
  return { pid: child.pid!, ended };
}

/** Descriptors that this process inherited from its parent lead to `/dev/null` in the program. */
function cover(
  given: ReadonlyMap<number, number>,
  inherited: readonly number[],
  nowhere: number,
): ("ignore" | number)[] {
  const length = Math.max(2, ...given.keys(), ...inherited) + 1;
  return Array.from({ length }, (_, fd) => given.get(fd) ?? (inherited.includes(fd) ? nowhere : "ignore"));
}

const execute = promisify(execFile);

/** Resolves with the tool's output. */
export async function runToEnd({ file, args, input }: Tool): Promise<string> {
  const running = execute(file, [...args], { env: TOOL_ENVIRONMENT, timeout: 20_000, maxBuffer: 16_777_216 });
  // Without a free descriptor there is no pipe to the tool, and a tool that ends early does not read its input. Both report the reason
  // elsewhere.
  running.child.stdin?.on("error", () => {}).end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(`${file} failed: ${stderr?.trim() || message}`, { cause: error });
  }
}
