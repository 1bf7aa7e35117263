/** A driver's ability to reach anything that listens on an instance's loopback, even on ports that the instance does not name. */
import { isIPv4, isIPv6 } from "node:net";
import type { Duplex } from "node:stream";

export interface LoopbackTarget {
  port: number;
  /** A loopback address. If absent, `127.0.0.1` is tried first, then `::1`. */
  host?: string;
}

/** For callers that may run programs in an instance, and so could reach the same from inside. */
export interface Loopback {
  /**
   * Connects as a program inside the instance would, and never to another loopback. Rejects with the reason when nothing in the instance
   * listens there, or when the address is not a loopback address.
   */
  dial(id: string, target: LoopbackTarget): Promise<Duplex>;
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** Matches every spelling of `::1`. The caller has checked that the text is an IPv6 address. */
const LOOPBACK_V6 = /^[0:]*:0*1$/;

/** Returns a loopback address in its one standard spelling, or undefined for anything else. Names are not resolved. */
export function loopbackAddress(host: string): string | undefined {
  const address = MAPPED.exec(host)?.[1] ?? host;
  if (isIPv4(address)) return address.startsWith("127.") ? address : undefined;
  return isIPv6(address) && LOOPBACK_V6.test(address) ? "::1" : undefined;
}

/** Returns the places to try, in order. Throws if the port or the address is not valid. */
export function placesOf({ port, host }: LoopbackTarget): { host: string; port: number }[] {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${port} is no port`);
  if (host === undefined) return ["127.0.0.1", "::1"].map((one) => ({ host: one, port }));
  const address = loopbackAddress(host);
  if (address === undefined) throw new Error(`${host} is no address of a loopback`);
  return [{ host: address, port }];
}

/** Connects to the first place of a target that answers. If none does, it throws the first error. */
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

/** The error in words for people. */
export const notReached = (id: string, { port }: LoopbackTarget, why: string, cause?: unknown) =>
  new Error(`port ${port} of the loopback of ${id} cannot be reached: ${why}`, { cause });
