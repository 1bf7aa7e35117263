/** What is reported when an instance finds no room: what it needs, and how much of that there is. */
import type { Need, Share } from "./need.ts";
import { type Free, freeGpus } from "./place.ts";
import { hasLeast } from "./shares.ts";
import { misfitOf } from "./terms.ts";

export interface Shortage {
  /** What is missing, as a code for programs. */
  lacks: string;
  need: string;
}

export function shortageOf(need: Need, boxes: readonly Free[]): Shortage {
  if (boxes.length === 0) return { lacks: "machine", need: "no machine is there to run workers" };
  const fitting = boxes.filter((free) => misfitOf(need, free) === undefined);
  if (fitting.length === 0) return bestMisfit(need, boxes);
  return need.kind === "cpu"
    ? { lacks: "cpu", need: shortOfCpu(need.flavors[0]!, fitting) }
    : { lacks: "gpu", need: shortOfGpus(need, fitting) };
}

/** Names the machines that were not asked, because they cannot run such an image at the moment. */
export function shortageBeside(away: number, { runs }: Need, shortage: Shortage): Shortage {
  if (away === 0) return shortage;
  const unasked = away === 1 ? "1 more machine runs" : `${away} more machines run`;
  return { ...shortage, need: `${shortage.need}; ${unasked} no ${runs} images now` };
}

/** Uses the reason of the box that meets the most terms. The others are about machines that were never meant. */
function bestMisfit(need: Need, boxes: readonly Free[]): Shortage {
  const misfits = boxes.map((free) => misfitOf(need, free)!);
  const { lacks, need: lack } = misfits.reduce((best, next) => (next.met > best.met ? next : best));
  return { lacks, need: lack };
}

function shortOfGpus({ count, types }: Extract<Need, { kind: "gpu" }>, boxes: readonly Free[]): string {
  const total = sum(types.flatMap(({ type }) => boxes.map(({ box }) => stockOf(box.gpus, type))));
  const inBoxes = types.flatMap(({ type }) => boxes.map((free) => freeGpus(free, type)));
  const free = sum(inBoxes);
  const short = `needs ${count}x ${oneOf(types.map(({ type }) => type))}, ${free} of ${total} free`;
  if (free < count) return short;
  const most = Math.max(...inBoxes);
  if (most < count) return `${short}, but not on one machine`;
  const withThem = boxes.filter((one) => types.some(({ type }) => freeGpus(one, type) >= count));
  const { least } = types[0]!;
  return least && !withThem.some((one) => types.some((choice) => hasLeast(choice, count, one)))
    ? `${short}, but none with ${leastText(least)} for each GPU`
    : `${short}, but too little CPU or memory beside them`;
}

/** Leaves out what the instance does not ask for. */
function leastText({ vcpu, memoryMb }: Share): string {
  const said = [vcpu > 0 ? `${vcpu} vCPU` : undefined, memoryMb > 0 ? gb(memoryMb) : undefined];
  return said.filter((one) => one !== undefined).join(" and ");
}

function shortOfCpu({ vcpu, memoryMb }: Share, boxes: readonly Free[]): string {
  const most = (of: keyof Share) => Math.max(0, ...boxes.map((free) => free[of]));
  return `needs ${vcpu} vCPU and ${gb(memoryMb)}, at most ${most("vcpu")} vCPU and ${gb(most("memoryMb"))} free on a machine`;
}

const stockOf = (gpus: Free["box"]["gpus"], type: string) => gpus.find((stock) => stock.type === type)?.count ?? 0;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const SHOWN_TYPES = 3;

function oneOf(types: readonly string[]): string {
  if (types.length <= SHOWN_TYPES) return types.join(" or ");
  return `${types.slice(0, SHOWN_TYPES - 1).join(", ")} or one of ${types.length - SHOWN_TYPES + 1} other types`;
}

const gb = (memoryMb: number) => `${Math.round(memoryMb / 1024)} GB`;
