/** Finds bubblewrap, the tool that sandboxes programs. */
import { runTool } from "../machine/forker.ts";
import { find } from "../machine/tools.ts";

export interface Bubblewrap {
  file: string;
  /** Whether this version can limit the size of a `tmpfs`. */
  limitsScratch: boolean;
}

/** Bubblewrap, or the reason why it cannot be used. */
export async function findBubblewrap(): Promise<Bubblewrap | { cannot: string }> {
  const install = "install bubblewrap (apt-get install bubblewrap)";
  const file = await find("bwrap");
  if (!file) return { cannot: install };
  const help = await runTool(file, ["--help"]).catch((error: Error) => error.message);
  if (!help.includes("--perms")) return { cannot: `${install}, 0.5 or later` };
  return { file, limitsScratch: help.includes("--size") };
}
