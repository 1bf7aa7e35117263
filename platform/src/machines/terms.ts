/** Decides whether a box suits an instance at all, however much of it is free, and says why not. */
import type { Need } from "./need.ts";
import type { Free } from "./place.ts";

export interface Misfit {
  /** How many terms the box meets before this one. */
  met: number;
  /** What the box lacks, as a code for programs and in words. */
  lacks: string;
  need: string;
}

/** Says why this need can never fit here, by its first unmet term, or returns undefined if all are met. */
export function misfitOf(need: Need, free: Free): Misfit | undefined {
  for (const [met, [lacks, term]] of TERMS.entries()) {
    const lack = term(need, free);
    if (lack !== undefined) return { met, lacks, need: lack };
  }
  return undefined;
}

/** A machine of virtual devices stands for all machines, so it suits every data center, CUDA version and disk. */
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
    "model",
    ({ among }, { machine }) =>
      !among || among.machines.includes(machine.id) || (among.shared && machine.volumes === "shared")
        ? undefined
        : `${among.lacks}, and machine ${machine.id} does not yet`,
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

/** If a driver cannot tell its CUDA version, it counts as suitable. The program will report it if it is not. */
function hasCuda({ atLeast, oneOf = [] }: NonNullable<Need["cuda"]>, cuda: string | undefined): boolean {
  if (cuda === undefined) return true;
  if (atLeast && compareVersions(cuda, atLeast) < 0) return false;
  return oneOf.length === 0 || oneOf.some((version) => compareVersions(cuda, version) === 0);
}

function cudaText({ atLeast, oneOf = [] }: NonNullable<Need["cuda"]>): string {
  return atLeast ? `CUDA ${atLeast} or later` : `CUDA ${oneOf.join(" or ")}`;
}

/** Compares version numbers by their parts, so `12.10` comes after `12.9`. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number)) as [number[], number[]];
  const at = [0, 1, 2].find((part) => (left[part] ?? 0) !== (right[part] ?? 0));
  return at === undefined ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}
