/** Variables and ports as older clients write them: lists of pairs, lines and comma-separated text. */
import { MIB } from "../../kernel/operation.ts";
import { nullable, t } from "../../kernel/schema.ts";
import { containerFields } from "./model.ts";

/** The limit of a text that lists ports. It fits the hundred that are allowed, with separators. */
const LONGEST_PORTS = 2048;
const MOST_PAIRS = 10_000;

type Pair = { key: string; value: string };

const LONGEST_KEY = 16_384;

const pair = t.Object({
  key: t.String({ pattern: "^[^=\\u0000]+$", maxLength: LONGEST_KEY }),
  value: t.String({ maxLength: MIB }),
});
const pairs = t.Array(pair, { maxItems: MOST_PAIRS });

/** Variables as a map, or as pairs of `key` and `value`. */
export const envForm = t.Union([containerFields.env, pairs]);

/** Ports as a list, or as one text with commas. */
export const portsForm = t.Union([containerFields.ports, t.String({ maxLength: LONGEST_PORTS })]);

/** An id that can come under either of two names. An empty text means none. */
export const idForm = nullable(t.String({ maxLength: 191 }));

/** If two pairs have the same key, the last one counts, as in a map. */
export function envFrom(given: Record<string, string> | readonly Pair[]): Record<string, string> {
  if (!Array.isArray(given)) return { ...(given as Record<string, string>) };
  return Object.fromEntries((given as readonly Pair[]).map(({ key, value }) => [key, value]));
}

export const envPairs = (env: Record<string, string>): Pair[] =>
  Object.entries(env).map(([key, value]) => ({ key, value }));

export const envLines = (env: Record<string, string>): string[] =>
  Object.entries(env).map(([key, value]) => `${key}=${value}`);

export function portsFrom(given: string | readonly string[]): string[] {
  const ports = typeof given === "string" ? given.split(",") : given;
  return ports.map((port) => port.trim()).filter((port) => port !== "");
}

export const portsText = (ports: readonly string[]): string => ports.join(",");
