/** Data centers as one text with commas, in which two letters mean every data center of a country. */
import { dataCenter, dataCenters } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import { grouped } from "./grouped.ts";

const MOST_WORDS = 200;

/** The ids of the data centers that a text means, each once; none for anywhere. */
export function dataCentersOf(text: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  if (words.length > MOST_WORDS) throw problem("rule-broken", `'locations' names more than ${MOST_WORDS} places.`);
  return [...new Set(words.filter((word) => word !== "").flatMap(placesCalled))];
}

/** A country where all of its several data centers stand together, else each by its id. */
export function locationsOf(ids: readonly string[]): string {
  return grouped(ids, (id) => dataCenter(id)?.country)
    .flatMap(({ group, members }) => {
      const all = group === undefined ? [] : inCountry(group);
      return all.length > 1 && all.join() === members.join() ? [group!] : members;
    })
    .join(",");
}

function placesCalled(word: string): string[] {
  if (dataCenter(word)) return [word];
  const found = inCountry(word.toUpperCase());
  if (found.length === 0) throw problem("rule-broken", `There is no data center and no country '${word}'.`);
  return found;
}

const inCountry = (country: string) =>
  dataCenters()
    .filter((center) => center.country === country)
    .map(({ id }) => id);
