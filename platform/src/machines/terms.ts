/** Whether a box suits an instance at all, however much of it is free, and why not in words. */
import type { Need } from "./need.ts";
import type { Free } from "./place.ts";

export interface Misfit {
  /** How many of the terms it met before this one. */
  met: number;
  /** What it lacks, for programs, and in words. */
  lacks: string;
  need: string;
}

/** Why nothing with this need can be there, by the first of its terms that is not met; undefined when all are. */
export function misfitOf(need: Need, free: Free): Misfit | undefined {
  for (const [met, [lacks, term]] of TERMS.entries()) {
    const lack = term(need, free);
    if (lack !== undefined) return { met, lacks, need: lack };
  }
  return undefined;
}

/** A machine of made-up devices stands for all there are: for every data center, every CUDA and every disk. */
export const standsIn = ({ machine, box }: Pick<Free, "machine" | "box">, dataCenter: string): boolean =>
  machine.isEverywhere === true || box.ceilings || machine.dataCenter === dataCenter;

type Term = (need: Need, free: Free) => string | undefined;

const real =
  (term: Term): Term =>
  (need, free) =>
    free.box.ceilings ? undefined : term(need, free);

const TERMS: readonly (readonly [lacks: string, term: Term])[] = [
  [
    "machine",
    (need, { machine }) =>
      need.machine === undefined || need.machine === machine.id ? undefined : `must be on machine ${need.machine}`,
  ],
  [
    "undrained-machine",
    (_, { machine }) =>
      machine.isDraining ? `machine ${machine.id} is being drained: nothing new starts there` : undefined,
  ],
  [
    "driver",
    ({ runs }, { machine }) =>
      !runs || !machine.runs || machine.runs.includes(runs) ? undefined : `needs a machine that runs ${runs} images`,
  ],
  [
    "volumes",
    ({ volumes }, { machine }) =>
      !volumes || machine.volumes === "shared" || (volumes === "any" && machine.volumes)
        ? undefined
        : `needs a machine that mounts ${volumes === "shared" ? "the shared volumes" : "volumes"}`,
  ],
  [
    "network",
    ({ groups }, { machine }) =>
      !groups || machine.groups
        ? undefined
        : "needs a machine that gives Pods a network of their own, for `globalNetworking` and for clusters",
  ],
  [
    "data-center",
    ({ dataCenters = [] }, free) =>
      dataCenters.length === 0 || dataCenters.some((id) => standsIn(free, id))
        ? undefined
        : `needs a machine in ${dataCenters.join(" or ")}, not in ${free.machine.dataCenter}`,
  ],
  [
    "cuda",
    real(({ kind, cuda }, { box }) =>
      kind === "cpu" || !cuda || hasCuda(cuda, box.cuda) ? undefined : `needs ${cudaText(cuda)}, not ${box.cuda}`,
    ),
  ],
  [
    "disk",
    real(({ diskGb: needed }, { diskGb }) =>
      needed <= diskGb ? undefined : `needs ${needed} GB of disk, at most ${Math.max(0, diskGb)} GB free on a machine`,
    ),
  ],
];

/** A driver that cannot tell its CUDA is believed to suit: the program will say so where it does not. */
function hasCuda({ atLeast, oneOf = [] }: NonNullable<Need["cuda"]>, cuda: string | undefined): boolean {
  if (cuda === undefined) return true;
  if (atLeast && compareVersions(cuda, atLeast) < 0) return false;
  return oneOf.length === 0 || oneOf.some((version) => compareVersions(cuda, version) === 0);
}

function cudaText({ atLeast, oneOf = [] }: NonNullable<Need["cuda"]>): string {
  return atLeast ? `CUDA ${atLeast} or later` : `CUDA ${oneOf.join(" or ")}`;
}

/** By their numbers: `12.10` comes after `12.9`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number)) as [number[], number[]];
  const at = [0, 1, 2].find((part) => (left[part] ?? 0) !== (right[part] ?? 0));
  return at === undefined ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
