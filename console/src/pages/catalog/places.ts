/** Where something is free, and which rows of the catalog a person asked for. */
import type { availabilities } from "@millrace/platform/catalog/words.ts";

export type Availability = (typeof availabilities)[number];

/** The data centers with the most of it first: `EU-RO-1, US-KS-2 and 3 more`. */
export function placesText(places: readonly { id: string; availability: Availability }[], most = 2): string {
  const order: Availability[] = ["HIGH", "MEDIUM", "LOW", "NONE"];
  const ids = places
    .toSorted((one, other) => order.indexOf(one.availability) - order.indexOf(other.availability))
    .map(({ id }) => id);
  const rest = ids.length - most;
  return rest > 0 ? `${ids.slice(0, most).join(", ")} and ${rest} more` : ids.join(", ");
}

/** Every word of the text is somewhere in one of the names. */
export function namesMatch(text: string, names: readonly (string | null | undefined)[]): boolean {
  const all = names.join(" ").toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
