/** The ports that a Pod names, and their numbers inside and outside. */
import type { KeptPod } from "./model.ts";

/** A TCP port with a number from here on is symmetric: it gets one number, whichever it is, inside and outside. */
const FIRST_SYMMETRIC = 70_000;

export interface PodPort {
  /** The number that names the port. */
  named: number;
  type: "http" | "tcp";
  /** The port that the program listens on. Undefined for a symmetric port that is not known yet. */
  inside: number | undefined;
  /** The port on the machine. Undefined for HTTP ports, which are reached through the proxy. */
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

/** The domains in which Pods of one account find each other, the established one first. */
const INTERNAL = ["runpod.internal", "millrace.internal"];

/** The group of all Pods of an account that ask for global networking. */
export const NETWORK = "pods";

export const internalNames = (pod: string): [string, ...string[]] =>
  INTERNAL.map((domain) => `${pod}.${domain}`) as [string, ...string[]];
