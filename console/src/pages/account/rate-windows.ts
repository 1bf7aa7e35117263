/** The windows of the rate limit, as the headers `RateLimit-Policy` and `RateLimit` of any answer say them. */

export interface RateWindow {
  name: string;
  /** Requests that the window allows. */
  most: number;
  seconds: number;
  left: number;
  /** Seconds until all of them are free again. */
  resetsIn: number;
}

/** `"minute";q=600;w=60, "hour";q=18000;w=3600` as its entries by name. */
function entriesOf(header: string | null): Map<string, Record<string, number>> {
  const entries = new Map<string, Record<string, number>>();
  for (const part of header?.split(",") ?? []) {
    const [name = "", ...pairs] = part.trim().split(";");
    const numbers = pairs.map((pair) => pair.split("=")).map(([key = "", value]) => [key.trim(), Number(value)]);
    entries.set(name.replaceAll('"', ""), Object.fromEntries(numbers));
  }
  return entries;
}

/** Empty where no rate limit holds. */
export function rateWindows(headers: Headers): RateWindow[] {
  const now = entriesOf(headers.get("RateLimit"));
  return [...entriesOf(headers.get("RateLimit-Policy"))].map(([name, { q = 0, w = 0 }]) => {
    const { r = 0, t = 0 } = now.get(name) ?? {};
    return { name, most: q, seconds: w, left: r, resetsIn: t };
  });
}
