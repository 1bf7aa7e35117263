/** Ports of instances that anybody reaches at the machine's own addresses. */
import { StartRefused } from "./refusal.ts";

/** A port that is to be reached from outside, by TCP. */
export interface Publish {
  port: number;
  /** Where, if that matters: one of the driver's range. The start is refused with PortTaken when it is somebody's. */
  outside?: number;
}

/** Who connects to `outside` of the machine reaches `inside` of the instance. */
export interface Published {
  inside: number;
  outside: number;
}

/** Where a driver chooses the outside ports from; both ends belong to it. */
export interface PortRange {
  first: number;
  last: number;
}

/** The ability to publish ports. */
export interface Publishing {
  /** Where those of instances of this image are published; undefined where no such instance can publish any. */
  rangeFor(image: string): PortRange | undefined;
}

/** A port of the machine that was wished for is somebody else's. */
export class PortTaken extends StartRefused {
  readonly outside: number;

  constructor(outside: number, cause?: unknown) {
    super(`port ${outside} of the machine is taken`, { cause, reason: "port-taken" });
    this.outside = outside;
  }
}

export const PUBLISHED_PORTS: PortRange = { first: 20_000, last: 29_999 };

/** For two drivers on one machine, of which neither knows what the other chooses. */
export function halves({ first, last }: PortRange): [PortRange, PortRange] {
  const middle = Math.floor((first + last) / 2);
  return [
    { first, last: middle },
    { first: middle + 1, last },
  ];
}

/** One instance publishes no more. */
export const MOST_PUBLISHED = 64;

/** Refuses what no driver publishes, and everything where this one cannot. */
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
 * An outside port for each: the one that was wished for, or one of those that are not taken. `from` is where to begin to look, so that a port that was just given back is not the
 * next one's: who still knocks at it would reach a stranger.
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

/** Those that are not taken, from where it is said on and round again. */
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

/** For an instance that is started again: the ports of the machine that it had are wished for. */
export const asBefore = (publish: readonly Publish[] = [], before: readonly Published[] = []): Publish[] =>
  publish.map(({ port, outside = before.find(({ inside }) => inside === port)?.outside }) => ({
    port,
    ...(outside !== undefined && { outside }),
  }));
