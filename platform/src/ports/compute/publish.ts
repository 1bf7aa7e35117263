/** Ports of instances that anybody reaches at the machine's own addresses. */
import { StartRefused } from "./refusal.ts";

/** A port that is to be reached from outside, by TCP. */
export interface Publish {
  port: number;
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
export function checkPublish(publish: readonly Publish[] = [], { cannot }: { cannot?: string | undefined } = {}): void {
  if (publish.length > 0 && cannot !== undefined) throw new StartRefused(`no port can be published here: ${cannot}`);
  if (publish.length > MOST_PUBLISHED) throw new StartRefused(`at most ${MOST_PUBLISHED} ports can be published`);
  for (const [index, { port }] of publish.entries()) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new StartRefused(`${port} is no port`);
    if (publish.findIndex((other) => other.port === port) !== index)
      throw new StartRefused(`port ${port} cannot be published twice`);
  }
}

/**
 * An outside port for each, of those that are not taken. `from` is where to begin to look, so that a port that was just given back is not the
 * next one's: who still knocks at it would reach a stranger.
 */
export function choosePorts(
  publish: readonly Publish[],
  { first, last }: PortRange,
  { taken, from }: { taken: ReadonlySet<number>; from: number },
): Published[] {
  const size = last - first + 1;
  const chosen: Published[] = [];
  for (let tried = 0; tried < size && chosen.length < publish.length; tried++) {
    const outside = first + ((from + tried) % size);
    if (!taken.has(outside)) chosen.push({ inside: publish[chosen.length]!.port, outside });
  }
  if (chosen.length < publish.length)
    throw new StartRefused(`no port of ${first} to ${last} is free to publish ${publish[chosen.length]!.port} at`);
  return chosen;
}
