/** A verb of the command line, before it is loaded. */
import type { Command } from "commander";
import type { Shell } from "./shell.ts";

export interface Verb {
  name: string;
  about: string;
  /** Whether the help leaves it out, since only scripts use it. */
  isHidden?: true;
  /** `asked` is the word behind the verb. A group then makes only what that needs. */
  load(shell: Shell, asked?: string): Promise<Command>;
}
