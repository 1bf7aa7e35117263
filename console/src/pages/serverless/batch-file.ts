/** Reads a file of requests for a batch: one JSON object on each line, or one JSON array. */
import { BATCH_LIMITS } from "../../api/shapes.data.ts";

export interface BatchFile {
  requests: { input: object }[];
  /** What is wrong, by line; nothing is sent while there is any. */
  faults: string[];
}

const MOST_FAULTS = 5;
/** A body may have 10 MB; this leaves room for what is around the requests. */
const BODY_BYTES = 9_000_000;

export function readBatchFile(text: string): BatchFile {
  const items = text.trimStart().startsWith("[") ? itemsOfArray(text) : itemsOfLines(text);
  const requests: BatchFile["requests"] = [];
  const faults: string[] = [];
  for (const { place, value, fault } of items) {
    const request = fault === undefined ? requestOf(value) : undefined;
    if (request) requests.push(request);
    else faults.push(`${place}: ${fault ?? "must be a JSON object"}`);
  }
  if (requests.length > BATCH_LIMITS.requests)
    faults.push(`The file has ${requests.length} requests, and a batch has at most ${BATCH_LIMITS.requests}.`);
  if (items.length === 0) faults.push("The file is empty.");
  const more = faults.length - MOST_FAULTS;
  return { requests, faults: more > 0 ? [...faults.slice(0, MOST_FAULTS), `and ${more} more`] : faults };
}

interface Item {
  place: string;
  value?: unknown;
  fault?: string;
}

function itemsOfArray(text: string): Item[] {
  try {
    return (JSON.parse(text) as unknown[]).map((value, index) => ({ place: `Item ${index + 1}`, value }));
  } catch (error) {
    return [{ place: "The file", fault: `is not JSON: ${(error as Error).message}` }];
  }
}

function itemsOfLines(text: string): Item[] {
  return text.split(/\r?\n/).flatMap((line, index): Item[] => {
    if (line.trim() === "") return [];
    const place = `Line ${index + 1}`;
    try {
      return [{ place, value: JSON.parse(line) as unknown }];
    } catch (error) {
      return [{ place, fault: `is not JSON: ${(error as Error).message}` }];
    }
  });
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** An object without `input` is the input itself, as most files of data are. */
function requestOf(value: unknown): { input: object } | undefined {
  if (!isObject(value)) return undefined;
  if (!("input" in value)) return { input: value };
  return isObject(value.input) ? (value as { input: object }) : undefined;
}

/** Parts that each fit into one body. */
export function inParts<T>(requests: readonly T[], most = BODY_BYTES): T[][] {
  const parts: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const request of requests) {
    const own = new TextEncoder().encode(JSON.stringify(request)).length + 1;
    if (bytes + own > most) {
      parts.push([]);
      bytes = 2;
    }
    parts.at(-1)!.push(request);
    bytes += own;
  }
  return parts;
}
