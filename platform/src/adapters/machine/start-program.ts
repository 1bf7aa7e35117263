/** Starts a program from this process itself, where the shell beside it cannot (`forker.ts`). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Descriptors } from "./descriptors.ts";
import { inheritedDescriptors } from "./processes.ts";
import { TOOL_ENVIRONMENT } from "./tools.ts";

/** An input of a program: a text that only its owner can read, or a file. */
export type Given = { text: string; owner?: number | undefined } | { path: string };

export interface Program {
  command: readonly string[];
  cwd: string;
  /** Each input, with the number of its descriptor. Shells know descriptors of one digit. */
  given: readonly (readonly [fd: number, what: Given])[];
  /** The name of short-lived files in memory, a place that all installations share. */
  name: string;
}

/** Resolves with the number of the process. */
export async function startProgram({ command, cwd, given, name }: Program): Promise<number> {
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
  await once(child, "spawn");
  child.unref();
  return child.pid!;
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
