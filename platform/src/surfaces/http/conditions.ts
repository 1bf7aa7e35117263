/** Conditions and ranges of a request for something that has a tag and a time, as RFC 9110 defines them. */
import type { IncomingHttpHeaders } from "node:http";
import type { ByteRange } from "../../kernel/bytes.ts";
import { timestamp } from "../../kernel/clock.ts";

export interface Tagged {
  /** With its quotation marks. */
  etag: string;
  modifiedAt: number;
}

/** Says that a condition for doing anything does not hold, or that the client has this already. A tag decides before a time does. */
export function unmetIn(headers: IncomingHttpHeaders, tagged: Tagged): "failed" | "unchanged" | undefined {
  const { "if-match": match, "if-none-match": none } = headers;
  const isNoLater = (text: string | undefined) => {
    const at = timeIn(text);
    return at !== undefined && Math.floor(tagged.modifiedAt / 1000) <= at;
  };
  const since = headers["if-unmodified-since"];
  if (match !== undefined ? !namesTag(match, tagged.etag) : since !== undefined && !isNoLater(since)) return "failed";
  if (none !== undefined ? namesTag(none, tagged.etag) : isNoLater(headers["if-modified-since"])) return "unchanged";
  return undefined;
}

export const namesTag = (condition: string, etag: string) =>
  condition.trim() === "*" || condition.split(",").some((tag) => bare(tag) === bare(etag));

const bare = (tag: string) => tag.trim().replace(/^W\//, "").replaceAll('"', "");

/**
 * Reads one range. Several ranges, and what is none, are answered with the whole. So is a range of something that has changed since, as
 * `If-Range` says. A range outside of the content is "outside".
 */
export function rangeIn(headers: IncomingHttpHeaders, size: number, tagged: Tagged): ByteRange | undefined | "outside" {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? "") ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return undefined;
  if (!isUnchanged(headers["if-range"]?.toString(), tagged)) return undefined;
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  return start > end || (first === "" && Number(last) === 0) ? "outside" : { start, end };
}

/** The rest of another version would be no rest of what the client has. */
function isUnchanged(condition: string | undefined, { etag, modifiedAt }: Tagged): boolean {
  if (condition === undefined) return true;
  return timeIn(condition) === undefined
    ? condition.trim() === etag
    : timeIn(condition) === Math.floor(modifiedAt / 1000);
}

/** Writes a time as RFC 9110 does: `Mon, 16 Nov 2026 09:30:00 GMT`. */
export function httpDate(ms: number): string {
  const [, year, month, day, time] = /^(\d{4})-(\d{2})-(\d{2})T([\d:]{8})/.exec(timestamp(ms))!;
  const weekday = WEEKDAYS[(Math.floor(ms / 86_400_000) + 4) % 7];
  return `${weekday}, ${day} ${MONTHS[Number(month) - 1]} ${year} ${time} GMT`;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Returns seconds, or undefined for what is not a time. Such a condition counts as not said. */
function timeIn(text: string | undefined): number | undefined {
  const [, day, month, year, time] = /^\w{3}, (\d{2}) (\w{3}) (\d{4}) ([\d:]{8}) GMT$/.exec(text ?? "") ?? [];
  const at = MONTHS.indexOf(month ?? "");
  if (at === -1) return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = time!.split(":").map(Number);
  return Date.UTC(Number(year), at, Number(day), hours, minutes, seconds) / 1000;
}
