/** A connection of a client to the loopback of its Pod, over a channel. */
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { type LoopbackTarget, loopbackAddress } from "../../ports/compute/loopback.ts";
import { sshUser } from "../../resources/ssh/logins.ts";
import type { Line } from "./line.ts";

/** Names by which a client means the Pod itself, beside the Pod's own. No name is ever looked up: it might lead anywhere. */
const ITSELF = ["localhost", "ip6-localhost", "ip6-loopback"];
const LONGEST_SHOWN = 255;

/** What is meant in the Pod; undefined for everything that is not the Pod. */
export function targetOf(host: string, port: number, pod: string): LoopbackTarget | undefined {
  const name = host.toLowerCase();
  if ([...ITSELF, pod, sshUser(pod)].includes(name)) return { port };
  const address = loopbackAddress(host);
  return address === undefined ? undefined : { port, host: address };
}

export const refusalOf = (host: string) =>
  `only the Pod's own loopback is reached (localhost, 127.0.0.1, ::1), and not ${host.slice(0, LONGEST_SHOWN)}`;

/** For what a client sent last, after it has closed its channel: as long as whoever listens may take to take it. */
export const LINGER_MS = 10_000;

/** Its client has closed the channel in order: what was sent before goes on its way. */
export function linger(inside: Duplex, clock: Clock): void {
  const late = clock.after(LINGER_MS, () => void inside.destroy());
  inside.once("close", () => late.cancel());
}

/** Until both sides are done, or one of them is gone. */
export async function forward(line: Line, inside: Duplex): Promise<void> {
  const { channel } = line;
  const closed = new Promise<void>((resolve) => inside.once("close", () => resolve()));
  inside.on("error", () => {});
  // Who has said all may still listen.
  inside.allowHalfOpen = true;
  if (inside.closed || line.isGone) {
    inside.destroy();
    channel.end();
    return;
  }
  channel.pipe(inside);
  inside.once("close", () => channel.unpipe(inside).resume());
  await line.pass(inside);
  if (!inside.destroyed) {
    channel.eof();
    await closed;
  }
  channel.end();
}
