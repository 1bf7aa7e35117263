/** Programs of the machine that the driver uses. */
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/sbin", "/usr/local/bin"];
/** For tools that this process runs: what they find beside themselves, and nothing of this process's own variables. */
export const TOOL_ENVIRONMENT = { PATH: FOLDERS.join(":"), LC_ALL: "C" };

/** Where a program is, or undefined. The folders are fixed: a variable of the server's does not choose what runs as root. */
export async function find(name: string): Promise<string | undefined> {
  for (const folder of FOLDERS) {
    const file = join(folder, name);
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return file;
  }
  return undefined;
}

const execute = promisify(execFile);

/** Runs a tool to its end and gives what it printed. Fails with what it said. */
export async function runTool(file: string, args: readonly string[], input?: string): Promise<string> {
  const running = execute(file, [...args], { env: TOOL_ENVIRONMENT, timeout: 20_000, maxBuffer: 16_777_216 });
  // Without a free descriptor there is no pipe to it, and one that ends early reads nothing from its own: either way it tells why itself.
  running.child.stdin?.on("error", () => {}).end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(`${file} failed: ${stderr?.trim() || message}`, { cause: error });
  }
}

export interface Bubblewrap {
  file: string;
  /** It can limit the size of a `tmpfs`. */
  limitsScratch: boolean;
}

/** Bubblewrap, or the reason why there is none that can be used. */
export async function findBubblewrap(): Promise<Bubblewrap | { cannot: string }> {
  const install = "install bubblewrap (apt-get install bubblewrap)";
  const file = await find("bwrap");
  if (!file) return { cannot: install };
  const help = await runTool(file, ["--help"]).catch((error: Error) => error.message);
  if (!help.includes("--perms")) return { cannot: `${install}, 0.5 or later` };
  return { file, limitsScratch: help.includes("--size") };
}
