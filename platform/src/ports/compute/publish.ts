/** Ports of instances that anyone can reach at the machine's own addresses. */
import { StartRefused } from "./refusal.ts";

/** A TCP port that should be reachable from outside. */
export interface Publish {
  port: number;
  /** The wanted port of the machine, from the driver's range. If it is in use, the start is refused with PortTaken. */
  outside?: number;
}

/** A connection to the machine's port `outside` reaches the instance's port `inside`. */
export interface Published {
  inside: number;
  outside: number;
}

/** The range from which a driver chooses outside ports. Both ends are included. */
export interface PortRange {
  first: number;
  last: number;
}

/** The ability to publish ports. */
export interface Publishing {
  /** Returns the range for instances of this image; undefined if such an instance cannot publish ports. */
  rangeFor(image: string): PortRange | undefined;
}

/** The wanted port of the machine is in use. */
export class PortTaken extends StartRefused {
  readonly outside: number;

  constructor(outside: number, cause?: unknown) {
    super(`port ${outside} of the machine is taken`, { cause, reason: "port-taken" });
    this.outside = outside;
  }
}

export const PUBLISHED_PORTS: PortRange = { first: 20_000, last: 29_999 };

/** Splits the range for two drivers on one machine, since neither knows what the other chooses. */
export function halves({ first, last }: PortRange): [PortRange, PortRange] {
  const middle = Math.floor((first + last) / 2);
  return [
    { first, last: middle },
    { first: middle + 1, last },
  ];
}

/** The most ports that one instance can publish. */
export const MOST_PUBLISHED = 64;

/** Refuses a list that no driver publishes, and any port if this driver cannot publish (`cannot` says why). */
export function checkPublish(publish: readonly Publish[] = [], cannot?: string): void {
  if (publish.length > 0 && cannot !== undefined)
    throw new StartRefused(`no port can be published here: ${cannot}`, { reason: "network-unavailable" });
  if (publish.length > MOST_PUBLISHED) throw new StartRefused(`at most ${MOST_PUBLISHED} ports can be published`);
  for (const [index, { port }] of publish.entries()) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new StartRefused(`${port} is no port`);
    if (publish.findIndex((other) => other.port === port) !== index)
      throw new StartRefused(`port ${port} cannot be published twice`);
  }
  const wished = publish.flatMap(({ outside = [] }) => outside);
  const twice = wished.find((outside, index) => wished.indexOf(outside) !== index);
  if (twice !== undefined) throw new StartRefused(`nothing but one port can be published at ${twice}`);
}

/**
 * Chooses an outside port for each port: the wanted one, or a free one. `from` says where the search begins, so that a port that was just
 * released is not used again at once: clients that still connect to it would reach another instance.
 */
export function choosePorts(
  publish: readonly Publish[],
  { first, last }: PortRange,
  { taken, from }: { taken: ReadonlySet<number>; from: number },
): Published[] {
  const wished = publish.flatMap(({ outside = [] }) => outside);
  for (const outside of wished) {
    if (outside < first || outside > last)
      throw new StartRefused(`nothing is published at ${outside} here, only at ${first} to ${last}`);
    if (taken.has(outside)) throw new PortTaken(outside);
  }
  const free = freePorts({ first, last }, { taken: new Set([...taken, ...wished]), from });
  return publish.map(({ port, outside }) => {
    const chosen = outside ?? free.next().value;
    if (chosen === undefined)
      throw new StartRefused(`no port of ${first} to ${last} is free to publish ${port} at`, {
        reason: "ports-used-up",
      });
    return { inside: port, outside: chosen };
  });
}

/** Yields the free ports, beginning at `from` and wrapping around. */
export function* freePorts(
  { first, last }: PortRange,
  { taken, from }: { taken: ReadonlySet<number>; from: number },
): Generator<number, undefined> {
  const size = last - first + 1;
  for (let tried = 0; tried < size; tried++) {
    const outside = first + ((from + tried) % size);
    if (!taken.has(outside)) yield outside;
  }
  return undefined;
}

/** Asks for the same outside ports again, for an instance that is started again. */
export const asBefore = (publish: readonly Publish[] = [], before: readonly Published[] = []): Publish[] =>
  publish.map(({ port, outside = before.find(({ inside }) => inside === port)?.outside }) => ({
    port,
    ...(outside !== undefined && { outside }),
  }));
