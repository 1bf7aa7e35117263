/** Which machines can share a network, so that instances that belong together find room on several of them. */
import { because, type Reason } from "../kernel/reason.ts";
import { type SpanEnd, wayBetween } from "../ports/compute/spans.ts";
import type { Runs } from "./need.ts";
import type { Machine } from "./place.ts";

/** Yields sets of two or more machines in which every two can share a network. No set is part of another that came before. */
export function* sharingSets(machines: readonly Machine[], runs: Runs | undefined): Generator<Machine[]> {
  const joinable = machines.filter((machine) => endFor(machine, runs) !== undefined);
  const known = new Map<string, boolean>();
  const canShare = (a: Machine, b: Machine) => {
    const pair = [a.id, b.id].toSorted().join(" ");
    const can = known.get(pair) ?? isShared(a, b, runs);
    known.set(pair, can);
    return can;
  };
  const before: Set<Machine>[] = [];
  for (const first of joinable) {
    const set = [first];
    for (const next of joinable) if (next !== first && set.every((one) => canShare(one, next))) set.push(next);
    if (set.length < 2 || before.some((other) => set.every((one) => other.has(one)))) continue;
    before.push(new Set(set));
    yield set;
  }
}

/** Members of a group work closely together, so they are in one data center. */
function isShared(a: Machine, b: Machine, runs: Runs | undefined): boolean {
  const isNear = a.dataCenter === b.dataCenter || a.isEverywhere === true || b.isEverywhere === true;
  return isNear && wayBetween(endFor(a, runs)!, endFor(b, runs)!) !== undefined;
}

function endFor({ spanning }: Machine, runs: Runs | undefined): SpanEnd | undefined {
  const { end, images } = spanning ?? {};
  return !runs || !images || images.includes(runs) ? end : undefined;
}

/** Says why instances that find room on these machines cannot share a network there. */
export function whyApart(members: number, machines: readonly Machine[], runs: Runs | undefined): Reason {
  const room = `there is room for all ${members}, but not on one machine`;
  const short = (why: string) => because("no-capacity", { need: `${room}${why}`, lacks: "one-machine" });
  const alone = machines.find((machine) => endFor(machine, runs) === undefined);
  if (alone) {
    const { lacks } = alone.spanning ?? {};
    return short(lacks === undefined ? "" : `, and machine ${alone.id} shares no network with others: ${lacks}`);
  }
  for (const [n, one] of machines.entries())
    for (const other of machines.slice(n + 1)) {
      const [a, b] = [endFor(one, runs)!, endFor(other, runs)!];
      if (wayBetween(a, b) !== undefined || a.address === b.address) continue;
      const mute = [one, other].find((machine) => !endFor(machine, runs)!.cipher);
      if (mute) return unencrypted(members, mute);
    }
  return short(
    ", and these machines are too far apart to share a network, or have different ports for it (MILLRACE_GROUP_PORT)",
  );
}

const unencrypted = (members: number, { id, spanning }: Machine) =>
  because("cluster-unencrypted", { members, machine: id, why: spanning?.end?.cannotEncrypt ?? "it has no key" });
