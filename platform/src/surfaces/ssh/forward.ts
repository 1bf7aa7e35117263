/** A connection of a client to a port of its Pod, over a channel. */
import type { Duplex } from "node:stream";
import type { Line } from "./line.ts";

/** Names by which a client means the Pod itself. */
const ITSELF = ["localhost", "127.0.0.1", "::1", "ip6-localhost"];

export const isItself = (host: string, pod: string) => ITSELF.includes(host.toLowerCase()) || host === pod;

/** Until either side is done. */
export async function forward(line: Line, inside: Duplex): Promise<void> {
  const { channel } = line;
  inside.on("error", () => {});
  channel.pipe(inside);
  const over = () => inside.destroy();
  if (line.isGone) over();
  inside.once("close", () => channel.unpipe(inside).resume());
  await line.pass(inside);
  channel.end();
  over();
}
