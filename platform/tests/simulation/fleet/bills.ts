/** Compares what is billed with what truly ran: no gap, no overlap, nothing else, and the sum is the bill. */
import type { KeptSpan } from "../../../src/metering/span.ts";
import type { Run } from "./machine.ts";
import type { SimulatedNode } from "./node.ts";
import type { FleetWorld } from "./world.ts";

interface Stretch {
  from: number;
  to: number;
}

/** Around a trouble of this world, nobody may have known what ran: a silent machine is noticed late, and heard of again late. */
const UNKNOWN_BEFORE_MS = 20_000;
const UNKNOWN_AFTER_MS = 20_000;
/** Times are read one after the other, so that ends may differ by as long as a call takes. */
const TOLERANCE_MS = 1000;
const LONGEST_UNRECORDED_MS = 15_000;
const MONTH_MS = 730n * 3_600_000n;

export async function checkBills(world: FleetWorld, node: SimulatedNode, account: string): Promise<void> {
  const spans = [...world.rules.spans.values()].map(({ id, doc }) => ({ id, doc: doc as unknown as KeptSpan }));
  const byInstance = Map.groupBy(spans, ({ doc }) => doc.instance);
  for (const [instance, of] of byInstance) checkSpans(world, instance, of);
  if (world.isClockTrue) {
    const runs = Map.groupBy(
      [...world.machines.values()].flatMap(({ runs }) => runs),
      ({ id }) => id,
    );
    for (const [id, of] of runs) checkRuns(world, id, of, byInstance.get(id)?.map(({ doc }) => doc) ?? []);
    for (const [id] of byInstance)
      if (isOfProgram(byInstance.get(id)![0]!.doc) && !runs.has(id))
        world.trace.broken(`instance ${id} is billed and never ran`, id);
  }
  await checkSum(
    world,
    node,
    account,
    spans.map(({ doc }) => doc),
  );
}

/** Spans of one record follow each other, and only the last may be open, and only while its record is there. */
function checkSpans({ rules, trace }: FleetWorld, instance: string, of: { id: string; doc: KeptSpan }[]): void {
  const sorted = of.toSorted((a, b) => numberOf(a.id) - numberOf(b.id));
  for (const [i, { id, doc }] of sorted.entries()) {
    const next = sorted[i + 1]?.doc;
    const about = doc.owner;
    if (doc.to !== null && doc.to < doc.from) trace.broken(`span ${id} ends before it begins`, about);
    if (numberOf(id) !== i + 1) trace.broken(`span ${i + 1} of ${instance} is missing`, about);
    const overlaps = next && (doc.to === null || next.from < doc.to);
    if (overlaps) trace.broken(`span ${id} overlaps the next one`, about);
    if (next && !isOfProgram(doc) && next.from !== doc.to)
      trace.broken(`nothing is billed between span ${id} and the next one`, about);
    const isThere = [rules.instances, rules.pods, rules.volumes].some((records) => records.has(instance));
    if (doc.to === null && !isThere) trace.broken(`span ${id} is open, and its record is gone`, about);
  }
}

/** Storage is billed as well, under the id of its Pod or volume. */
const isOfProgram = ({ phase }: KeptSpan) => phase === "running" || phase === "frozen";

const numberOf = (id: string) => Number(id.slice(id.lastIndexOf(".") + 1));

/** What is billed of an instance is exactly the time that it ran, except where nobody knew. */
function checkRuns(world: FleetWorld, id: string, runs: readonly Run[], spans: readonly KeptSpan[]): void {
  const { timeline, trace, troubles, isQuiet } = world;
  const now = timeline.elapsed;
  const about = runs[0]!.spec.owner;
  const origin = timeline.wall - now;
  const billed = spans.map(({ from, to }) => ({ from: from - origin, to: (to ?? timeline.wall) - origin }));
  const ran = runs.map(({ from, to = now }) => ({ from, to }));
  const unknown = troubles.map(({ from, to = now }) => ({ from: from - UNKNOWN_BEFORE_MS, to: to + UNKNOWN_AFTER_MS }));
  const free = without(billed, ran).filter((part) => lengthOf(part) > TOLERANCE_MS);
  const over = without(free, unknown).filter((part) => lengthOf(part) > TOLERANCE_MS);
  if (over.length > 0 && isQuiet)
    trace.broken(`${id} is billed ${textOf(over[0]!)}, when it did not run; it ran ${ran.map(textOf).join()}`, about);
  const recorded = ran.filter((run) => !isUnrecorded(run, billed));
  const missing = without(without(recorded, billed), unknown).filter((part) => lengthOf(part) > TOLERANCE_MS);
  if (missing.length > 0) trace.broken(`${id} ran ${textOf(missing[0]!)} and that is not billed`, about);
}

/** A program that was ended before anybody recorded its start is not billed. */
const isUnrecorded = (run: Stretch, billed: readonly Stretch[]) =>
  lengthOf(run) < LONGEST_UNRECORDED_MS && !billed.some(({ from, to }) => from < run.to && to > run.from);

function without(stretches: readonly Stretch[], gone: readonly Stretch[]): Stretch[] {
  return gone.reduce<Stretch[]>(
    (left, { from, to }) =>
      left.flatMap((one) => [
        ...(one.from < from ? [{ from: one.from, to: Math.min(one.to, from) }] : []),
        ...(one.to > to ? [{ from: Math.max(one.from, to), to: one.to }] : []),
      ]),
    [...stretches],
  );
}

const lengthOf = ({ from, to }: Stretch) => to - from;
const textOf = ({ from, to }: Stretch) => `from ${from} to ${to} ms`;

/** The bill is the sum of the spans, and of what ended jobs of shared endpoints cost. */
async function checkSum(
  world: FleetWorld,
  node: SimulatedNode,
  account: string,
  spans: readonly KeptSpan[],
): Promise<void> {
  const { trace, jobRules } = world;
  const now = node.seat.watch.now();
  const told = await node.services.costs.ofAccount(account, { from: 0, to: now });
  const sum = spans.reduce((total, span) => total + costOf(span, now), 0n);
  if (told !== sum) trace.broken(`the bill is ${told}, and the spans cost ${sum}`);
  const charges = await node.services.charges.within({ caller: "guest", from: 0, to: Number.MAX_SAFE_INTEGER });
  const charged = charges.reduce((total, { amount }) => total + amount, 0);
  if (charged !== jobRules.owed) trace.broken(`the guest is charged ${charged}, and owes ${jobRules.owed}`);
}

function costOf({ price, from, to, free }: KeptSpan, now: number): bigint {
  const ms = Math.min(to ?? now, now) - from;
  if (free !== undefined || ms <= 0) return 0n;
  const rates = [price.gpu * 730, price.cpu * 730, price.disk * 730 + price.storage].map(BigInt);
  return rates.reduce((sum, rate) => sum + (rate * BigInt(ms) + MONTH_MS / 2n) / MONTH_MS, 0n);
}
