/** The loopback of an instance's own network, as one small ability of a driver: whatever listens there is reached, whether or not the instance names its port. */
import { isIPv4, isIPv6 } from "node:net";
import type { Duplex } from "node:stream";

export interface LoopbackTarget {
  port: number;
  /** An address of the loopback; without one, `127.0.0.1` and then `::1`. */
  host?: string;
}

/** For who may run programs in an instance, and so reaches the same from inside it. */
export interface Loopback {
  /**
   * A connection as a program inside the instance would make it, and never one to a loopback that is not its own. Rejects with the reason when
   * nobody of the instance listens there, and for what is no address of a loopback.
   */
  dial(id: string, target: LoopbackTarget): Promise<Duplex>;
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** `::1`, however it is written; what it is written in was checked before. */
const LOOPBACK_V6 = /^[0:]*:0*1$/;

/** The one way in which an address of the loopback is written from here on; undefined for what is none. Names are not looked up. */
export function loopbackAddress(host: string): string | undefined {
  const address = MAPPED.exec(host)?.[1] ?? host;
  if (isIPv4(address)) return address.startsWith("127.") ? address : undefined;
  return isIPv6(address) && LOOPBACK_V6.test(address) ? "::1" : undefined;
}

/** Where to try, in this order. Throws for what is no port, or no address of a loopback. */
export function placesOf({ port, host }: LoopbackTarget): { host: string; port: number }[] {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${port} is no port`);
  if (host === undefined) return ["127.0.0.1", "::1"].map((one) => ({ host: one, port }));
  const address = loopbackAddress(host);
  if (address === undefined) throw new Error(`${host} is no address of a loopback`);
  return [{ host: address, port }];
}

/** The first place of a target that somebody listens at; without one, what the first said. */
export async function dialFirst(
  target: LoopbackTarget,
  dial: (place: { host: string; port: number }) => Promise<Duplex>,
): Promise<Duplex> {
  let first: unknown;
  for (const place of placesOf(target)) {
    try {
      return await dial(place);
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}

/** In the words that people read. */
export const notReached = (id: string, { port }: LoopbackTarget, why: string, cause?: unknown) =>
  new Error(`port ${port} of the loopback of ${id} cannot be reached: ${why}`, { cause });
