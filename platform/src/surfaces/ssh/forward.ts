/** Forwards a client's connection to the loopback of its Pod, over a channel. */
import type { Duplex } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { type LoopbackTarget, loopbackAddress } from "../../ports/compute/loopback.ts";
import { sshUser } from "../../resources/ssh/logins.ts";
import type { Line } from "./line.ts";

/** Names for the Pod itself, in addition to the Pod's own. Names are never resolved, since they might lead anywhere. */
const ITSELF = ["localhost", "ip6-localhost", "ip6-loopback"];
const LONGEST_SHOWN = 255;

/** The target in the Pod, or undefined for anything outside of it. */
export function targetOf(host: string, port: number, pod: string): LoopbackTarget | undefined {
  const name = host.toLowerCase();
  if ([...ITSELF, pod, sshUser(pod)].includes(name)) return { port };
  const address = loopbackAddress(host);
  return address === undefined ? undefined : { port, host: address };
}

export const refusalOf = (host: string) =>
  `only the Pod's own loopback is reached (localhost, 127.0.0.1, ::1), and not ${host.slice(0, LONGEST_SHOWN)}`;

/** After a client closes its channel, the program has this long to take the last bytes. */
export const LINGER_MS = 10_000;

/** The client closed the channel properly, so the bytes sent before are still delivered. */
export function linger(inside: Duplex, clock: Clock): void {
  const late = clock.after(LINGER_MS, () => void inside.destroy());
  inside.once("close", () => late.cancel());
}

/** Resolves when both sides are done, or one of them is gone. */
export async function forward(line: Line, inside: Duplex): Promise<void> {
  const { channel } = line;
  const closed = new Promise<void>((resolve) => inside.once("close", () => resolve()));
  inside.on("error", () => {});
  // A side that has sent everything may still listen.
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
