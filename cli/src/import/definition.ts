/** What an import carries over: definitions in the words of REST v2, whichever API they were read from. */

/** In the order in which they are made, because later kinds name earlier ones. */
export const kinds = ["secrets", "registries", "volumes", "templates", "endpoints", "pods"] as const;
export type Kind = (typeof kinds)[number];

export type Fields = Record<string, unknown>;

/** A thing of the source. `body` is what would create it there: its ids of registries and volumes are those of the source. */
export interface Definition {
  kind: Kind;
  id: string;
  name: string;
  body: Fields;
}

/** A thing of the source, or a whole kind, that cannot be carried over, and why. */
export interface Unreadable {
  kind: Kind;
  name: string;
  why: string;
}

export interface Account {
  definitions: Definition[];
  unreadable: Unreadable[];
}

const LONGEST_SHOWN = 200;

/** A text of the source for a terminal: short, on one line, and without anything that moves the cursor. */
export function shown(text: string): string {
  const plain = text.slice(0, 4 * LONGEST_SHOWN).replaceAll(/[\p{Cc}\p{Cf}]/gu, " ");
  return plain.length > LONGEST_SHOWN ? `${plain.slice(0, LONGEST_SHOWN)}…` : plain;
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Drops fields that have no value. */
export const given = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
