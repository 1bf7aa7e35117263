/** Where a new volume goes: on the storage that machines share, else on the machine of its data center with most room for it. */
import { dataCenters, isDataCenter, volumeTypesOf } from "../../catalog/compute.ts";
import type { VolumeType } from "../../catalog/words.ts";
import { problem } from "../../kernel/problem.ts";
import type { Machine } from "../../machines/place.ts";
import { standsIn } from "../../machines/terms.ts";

/** The tier that is asked for, or the first that the data center offers. */
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

/** The machine, or null for the shared storage. `usedGb`: what the volumes of a machine may fill together. */
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

/** Made-up machines promise what they do not have. */
const roomIn = ({ boxes }: Machine) =>
  boxes.some(({ ceilings }) => ceilings) ? Number.POSITIVE_INFINITY : Math.max(0, ...boxes.map(({ diskGb }) => diskGb));

function nobodyIn(dataCenter: string, isThere: boolean): string {
  if (isThere)
    return `The machines in '${dataCenter}' can mount no volumes: without a sandbox programs cannot have them.`;
  return `No machine of this installation stands in '${dataCenter}', or none can be reached now.`;
}
