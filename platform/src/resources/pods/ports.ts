/** The ports that a Pod names, and where each of them is inside and outside. */
import type { KeptPod } from "./model.ts";

/** Asked for by a number from here on, a TCP port is the same inside and outside, whichever it is. */
const FIRST_SYMMETRIC = 70_000;

export interface PodPort {
  /** The number by which it is named. */
  named: number;
  type: "http" | "tcp";
  /** Where the program listens; undefined for a symmetric one that is not known yet. */
  inside: number | undefined;
  /** Where it is reached at the machine; undefined for HTTP ports, which are reached through the proxy. */
  outside: number | undefined;
}

export function portsOf({ ports, publicPorts }: Pick<KeptPod, "ports" | "publicPorts">): PodPort[] {
  return ports.map((port) => {
    const [number, type] = port.split("/") as [string, PodPort["type"]];
    const named = Number(number);
    const outside = type === "tcp" ? publicPorts[number] : undefined;
    return { named, type, inside: named >= FIRST_SYMMETRIC ? outside : named, outside };
  });
}

/** The domains below which Pods of one account find each other, the established one first. */
const INTERNAL = ["runpod.internal", "millrace.internal"];

/** All Pods of an account that ask for it. */
export const NETWORK = "pods";

export const internalNames = (pod: string): [string, ...string[]] =>
  INTERNAL.map((domain) => `${pod}.${domain}`) as [string, ...string[]];
