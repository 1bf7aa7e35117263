/** A cluster whose members are on several machines: what its machines have to agree on before the first member starts. */
import { createHash } from "node:crypto";
import type { Machine } from "../../machines/place.ts";
import { MOST_SPANS, termsOf } from "../../ports/compute/spans.ts";
import type { ClusterSpan, KeptCluster } from "./model.ts";

/** Null if all members are on one machine. */
export function spanOver(places: readonly string[], machines: readonly Machine[]): Omit<ClusterSpan, "number"> | null {
  const used = new Set(places);
  if (used.size < 2) return null;
  const ends = machines.flatMap(({ id, spanning }) => (used.has(id) ? (spanning?.end ?? []) : []));
  return { ...termsOf(ends), machines: places, agreed: [], avoid: [] };
}

/** Yields numbers for the packets of a cluster's network, the same ones each time. */
export function* spanNumbers(cluster: string): Generator<number> {
  for (let n = 0; ; n++) {
    const digest = createHash("sha256").update(`${cluster}\0${n}`).digest();
    yield 1 + (digest.readUInt32BE() % (MOST_SPANS - 1));
  }
}

type Agreement = Pick<KeptCluster, "range"> & { span: ClusterSpan };

export const waitedFor = ({ machines, agreed }: ClusterSpan): string[] =>
  [...new Set(machines)].filter((machine) => !agreed.includes(machine));

/**
 * What the cluster keeps once a machine has reserved a range for it. A machine that cannot have the range that others chose proposes its
 * own instead, and the others follow. Undefined if nothing changes.
 */
export function agreedBy(machine: string, reserved: string, { range, span }: Agreement): Agreement | undefined {
  if (range === reserved)
    return span.agreed.includes(machine) ? undefined : { range, span: { ...span, agreed: [...span.agreed, machine] } };
  // Members may run with the range by now, so it stays.
  if (span.avoid.includes(reserved) || waitedFor(span).length === 0) return undefined;
  const avoid = range === null ? span.avoid : [...span.avoid, range];
  return { range: reserved, span: { ...span, agreed: [machine], avoid } };
}
