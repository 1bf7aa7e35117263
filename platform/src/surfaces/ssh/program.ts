/** A program in a Pod and the client that it talks to over a channel. */
import { floating } from "../../kernel/floating.ts";
import type { Execution } from "../../ports/compute/execution.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import type { Line } from "./line.ts";

/** Until the program has ended and all that it wrote is sent. */
export async function converse(line: Line, execution: Execution): Promise<Exit> {
  feed(line, execution);
  const passed = [line.pass(execution.stdout), line.pass(execution.stderr, "stderr")];
  const [exit] = await Promise.all([execution.exit, ...passed]);
  return exit;
}

/** What the client sends, as fast as the program takes it. */
export function feed({ channel }: Line, { stdin, exit }: Execution): void {
  // That it takes no more is no failure: it may go on without.
  stdin.on("error", () => {});
  const over = () => {
    channel.unpipe(stdin);
    channel.resume();
  };
  stdin.once("close", over);
  channel.pipe(stdin);
  floating(exit.then(over), over);
}
