/** Decides where a new volume goes, and whether one can grow there: on shared storage if there is any, else on the machine of its data center with the most free space. */
import { dataCenters, isDataCenter, volumeTypesOf } from "../../catalog/compute.ts";
import type { VolumeType } from "../../catalog/words.ts";
import { problem } from "../../kernel/problem.ts";
import type { Machine } from "../../machines/place.ts";
import { standsIn } from "../../machines/terms.ts";

/** The requested tier, or the first one that the data center offers. */
export function tierIn(dataCenter: string, asked: VolumeType | undefined): VolumeType {
  if (!isDataCenter(dataCenter)) throw nothingThere(`There is no data center '${dataCenter}'.`);
  const offered = volumeTypesOf(dataCenter);
  const [primary] = offered;
  if (primary === undefined) throw nothingThere(`Data center '${dataCenter}' offers no network volumes.`);
  if (asked !== undefined && !offered.includes(asked))
    throw problem("rule-broken", `Data center '${dataCenter}' offers ${offered.join(" and ")}, not ${asked}.`);
  return asked ?? primary;
}

const nothingThere = (why: string) => {
  const offering = dataCenters()
    .map(({ id }) => id)
    .filter((id) => volumeTypesOf(id).length > 0);
  return problem("rule-broken", `${why} Network volumes can be in: ${offering.join(", ")}.`);
};

/** Returns the machine, or null for shared storage. `usedGb` gives the total size of the volumes on a machine. */
export function siteFor(
  { dataCenter, size }: { dataCenter: string; size: number },
  machines: readonly Machine[],
  usedGb: (machine: string) => number,
): string | null {
  const there = machines.filter((machine) => machine.boxes.some((box) => standsIn({ machine, box }, dataCenter)));
  const able = there.filter(({ volumes }) => volumes);
  if (able.length === 0) throw problem("rule-broken", nobodyIn(dataCenter, there.length > 0));
  if (able.some(({ volumes }) => volumes === "shared")) return null;
  const roomOf = (machine: Machine) => roomIn(machine) - usedGb(machine.id);
  const best = able.reduce((one, other) => (roomOf(other) > roomOf(one) ? other : one));
  if (roomOf(best) < size) {
    const left = Math.max(0, roomOf(best));
    throw problem(
      "no-capacity",
      `No machine in '${dataCenter}' has ${size} GB for a volume: at most ${left} GB are left.`,
    );
  }
  return best.id;
}

/** Throws if the volume's machine has no room for so many GB more. A machine that cannot be reached now is not asked. */
export function refuseGrowth(
  { machine: id, size }: { machine: string | null; size: number },
  more: number,
  machines: readonly Machine[],
  usedGb: (machine: string) => number,
): void {
  const machine = machines.find((one) => one.id === id);
  if (!machine) return;
  const left = Math.max(0, roomIn(machine) - usedGb(machine.id));
  if (left < more)
    throw problem(
      "no-capacity",
      `The machine of this volume has no ${more} GB more for it: ${left} GB are left, so it can grow to ${size + left} GB.`,
    );
}

/** Virtual machines offer more than they have, so their disk counts as unlimited. */
const roomIn = ({ boxes }: Machine) =>
  boxes.some(({ ceilings }) => ceilings) ? Number.POSITIVE_INFINITY : Math.max(0, ...boxes.map(({ diskGb }) => diskGb));

function nobodyIn(dataCenter: string, isThere: boolean): string {
  if (isThere)
    return `The machines in '${dataCenter}' can mount no volumes: without a sandbox programs cannot have them.`;
  return `No machine of this installation stands in '${dataCenter}', or none can be reached now.`;
}
