/** What the server said about single fields, by their paths, for the fields of a form. */
import type { Refusal } from "../api/refusal.ts";

/** What is wrong with a field as a whole, or with the first thing within it, for a control that shows all of it. */
export function faultWithin(faults: ReadonlyMap<string, string> | undefined, path: string): string | undefined {
  const own = faults?.get(path);
  if (own !== undefined) return own;
  const [inner, message] =
    faults?.entries().find(([key]) => key.startsWith(`${path}.`) || key.startsWith(`${path}[`)) ?? [];
  return inner && `${inner.slice(path.length).replace(/^\./, "")}: ${message}`;
}

export function faultsOf(refusal: Refusal | null | undefined): ReadonlyMap<string, string> {
  return new Map(refusal?.faults.map(({ path, message }) => [path, message]));
}
