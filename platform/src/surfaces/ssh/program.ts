/** Connects a program in a Pod with its client over a channel. */
import { floating } from "../../kernel/floating.ts";
import type { Execution } from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import type { Line } from "./line.ts";

/** Resolves when the program has ended and all of its output is sent. */
export async function converse(line: Line, execution: Execution): Promise<Exit> {
  feed(line, execution);
  const passed = [line.pass(execution.stdout), line.pass(execution.stderr, "stderr")];
  const [exit] = await Promise.all([execution.exit, ...passed]);
  return exit;
}

/** Sends the client's input to the program, as fast as it takes it. */
export function feed({ channel }: Line, { stdin, exit }: Execution): void {
  // Closing its input is no failure: the program may go on without.
  stdin.on("error", () => {});
  const over = () => {
    channel.unpipe(stdin);
    channel.resume();
  };
  stdin.once("close", over);
  channel.pipe(stdin);
  floating(exit.then(over), over);
}
