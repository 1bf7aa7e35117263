/** Data centers as one text with commas. Two letters stand for all data centers of a country. */
import { dataCenter, dataCenters } from "../../catalog/compute.ts";
import { problem } from "../../kernel/problem.ts";
import { grouped } from "./grouped.ts";

const MOST_WORDS = 200;

/** The ids of the data centers that a text stands for, each once. An empty list means anywhere. */
export function dataCentersOf(text: string): string[] {
  const words = text.split(",").map((word) => word.trim());
  if (words.length > MOST_WORDS) throw problem("rule-broken", `'locations' names more than ${MOST_WORDS} places.`);
  return [...new Set(words.filter((word) => word !== "").flatMap(placesCalled))];
}

/** Writes the country if all of its data centers are listed together and there are several; otherwise each id. */
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
