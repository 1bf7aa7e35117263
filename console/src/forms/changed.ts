/** What a form of a record changes, so that an update says only that and leaves what others changed meanwhile. */
import type { Values } from "./schema-form.tsx";

interface Property {
  type?: string;
  anyOf?: { type?: string }[];
  default?: unknown;
  properties?: Record<string, Property>;
  /** An update keeps the members that it does not name. */
  "x-merges"?: boolean;
}

export interface Shape {
  properties: Record<string, Property>;
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/** The fields of an update that makes `next` of `known`. */
export function changedIn({ properties }: Shape, known: Values, next: Values): Values {
  return Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => !isSame(next[name], known[name]))
      .map(([name, property]) => [name, changeOf(property, known[name], next[name])]),
  );
}

function changeOf(property: Property, known: unknown, next: unknown): unknown {
  if (next === undefined) return clearedOf(property);
  if (!mergesIn(property) || known === undefined) return next;
  return changedIn({ properties: property.properties! }, known as Values, next as Values);
}

const mergesIn = (property: Property | undefined) => property?.["x-merges"] === true;

/** The record as it is known now, with what was changed. */
export function withChanges({ properties }: Shape, known: Values, changed: Values): Values {
  const merged = Object.entries(changed).map(([name, value]) => [
    name,
    mergesIn(properties[name]) ? { ...(known[name] as Values), ...(value as Values) } : value,
  ]);
  return { ...known, ...Object.fromEntries(merged) };
}

/** How a field is cleared by an update: `null` where the model takes it, else the empty value of its type. */
function clearedOf({ type, anyOf, default: unsaid }: Property): unknown {
  if (anyOf?.some((form) => form.type === "null")) return null;
  if (unsaid !== undefined) return unsaid;
  return type === "array" ? [] : type === "object" ? {} : type === "string" ? "" : null;
}
