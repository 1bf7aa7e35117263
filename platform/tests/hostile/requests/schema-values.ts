/** Generates values from a JSON schema: values that fit it, and values at its limits or just beyond them. */
import fc from "fast-check";
import type { SeededRandom } from "../../../src/kernel/random.ts";

export interface Schema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  maxProperties?: number;
}

type Json = Record<string, unknown>;

/** Texts and lists beyond this length are rare, since each costs as much as a hundred small ones. */
const LARGE = 5000;
const LARGE_SHARE = 0.02;
const OPTIONAL_SHARE = 0.3;
const MATCHING_TEXTS = 40;

/** Texts, numbers and shapes that have broken parsers, databases and languages. */
const ODD: readonly unknown[] = [
  ...[null, true, false, 0, -0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, -(2 ** 63)],
  ...["", " ", "\0", "a\0b", "\ud800", "\udfff\ud800", "\u202e", "\ufeff", "\uffff", "🦆".repeat(50), "é", "e\u0301"],
  ...["NaN", "Infinity", "-Infinity", "null", "undefined", "true", "0x10", "1e400", "-0", "08", "١٢"],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "../../etc/passwd",
    "%00",
    "%2f",
    "{{",
    "{{ MILLRACE_SECRET_x }}",
  ],
  ...["' OR 1=1 --", '"; DROP TABLE x; --', "$1", "\\", "\r\nSet-Cookie: a=b", "<script>", "\u0007", "1970-01-01"],
  ...["9999-12-31T23:59:60Z", "-271821-04-20T00:00:00Z", "+275760-09-13T00:00:00.001Z", "0000-01-01T00:00:00Z"],
  ...[[], {}, [[]], [null], { "": "" }, { length: 5 }, { toString: 1 }, { toJSON: 1 }, ["a", "a"], { id: {} }],
];

/** The value as it appears in a query. `String` would call the `toString` of an odd object. */
export const asText = (value: unknown) => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

export class SchemaValues {
  readonly #components: Record<string, Schema>;
  readonly #chance: SeededRandom;
  readonly #odd: readonly unknown[];
  readonly #matching = new Map<string, string[]>();
  readonly #seed: number;

  constructor(components: Record<string, Schema>, chance: SeededRandom, seed: number) {
    this.#components = components;
    this.#chance = chance;
    this.#seed = seed;
    const more = fc.sample(fc.oneof(fc.jsonValue(), fc.string({ unit: "binary" }), fc.double()), {
      seed,
      numRuns: 300,
    });
    this.#odd = [...ODD, ...more];
  }

  odd(): unknown {
    return this.#chance.chance(0.05) ? this.#nested() : this.#chance.pick(this.#odd);
  }

  fitting(given: Schema): unknown {
    const schema = this.resolve(given);
    const chance = this.#chance;
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return chance.pick(schema.enum);
    const forms = schema.anyOf ?? schema.oneOf;
    if (forms) return this.fitting(chance.pick(forms));
    if (schema.type === "object") return this.#object(schema);
    if (schema.type === "array") return this.#list(schema, (schema.minItems ?? 0) + chance.below(2));
    if (schema.type === "string") return this.#text(schema);
    if (schema.type === "integer") return Math.round(this.#number(schema));
    if (schema.type === "number") return this.#number(schema);
    if (schema.type === "boolean") return chance.chance(0.5);
    return schema.type === "null" ? null : this.#chance.pick(["x", 1, {}, [1]]);
  }

  /** Changes one place of the value to a limit of its schema or to something odd. */
  mutated(schema: Schema, value: unknown): unknown {
    const places = this.#places(schema, value, []);
    const { path, schema: at, value: old } = this.#chance.pick(places);
    return replaced(value, path, this.#chance.chance(0.3) ? this.odd() : this.edge(at, old));
  }

  resolve(schema: Schema): Schema {
    return schema.$ref ? this.resolve(this.#components[schema.$ref.split("/").at(-1)!]!) : schema;
  }

  /** A value at a limit of the schema or just beyond it. */
  edge(given: Schema, old?: unknown): unknown {
    const schema = this.resolve(given);
    const chance = this.#chance;
    const forms = schema.anyOf ?? schema.oneOf;
    if (forms) return this.edge(chance.pick(forms), old);
    if (schema.type === "string" && !schema.enum) return this.#edgeText(schema);
    if (schema.type === "integer" || schema.type === "number") return this.#edgeNumber(schema);
    if (schema.type === "array") return this.#edgeList(schema);
    if (schema.type === "object") return this.#edgeObject(schema, old);
    return this.odd();
  }

  #object({ properties = {}, required = [], patternProperties }: Schema): Json {
    const wanted = Object.entries(properties).filter(
      ([name]) => required.includes(name) || this.#chance.chance(OPTIONAL_SHARE),
    );
    const entries = wanted.map(([name, schema]) => [name, this.fitting(schema)]);
    if (patternProperties) entries.push(["KEY", this.fitting(Object.values(patternProperties)[0]!)]);
    return Object.fromEntries(entries);
  }

  #list({ items = {}, uniqueItems }: Schema, length: number): unknown[] {
    const list = Array.from({ length }, () => this.fitting(items));
    return uniqueItems ? [...new Map(list.map((item) => [JSON.stringify(item), item])).values()] : list;
  }

  #text({ pattern, format, minLength = 0, maxLength = 40 }: Schema): string {
    if (format === "date-time") return "2030-01-01T00:00:00Z";
    if (pattern) return this.#chance.pick(this.#matchingTexts(pattern)).slice(0, maxLength);
    const text = `t${this.#chance.below(1e9).toString(36)}`;
    return text.padEnd(minLength, "x").slice(0, maxLength);
  }

  #matchingTexts(pattern: string): string[] {
    let texts = this.#matching.get(pattern);
    if (!texts) {
      texts = fc.sample(fc.stringMatching(withoutLookaheads(pattern)), { seed: this.#seed, numRuns: MATCHING_TEXTS });
      this.#matching.set(pattern, texts);
    }
    return texts;
  }

  #number({ minimum = 0, maximum = 1000 }: Schema): number {
    return minimum + this.#chance.fraction() * (Math.min(maximum, minimum + 1000) - minimum);
  }

  #edgeText({ minLength = 0, maxLength }: Schema): string {
    const lengths = [minLength, minLength - 1];
    if (maxLength !== undefined) lengths.push(maxLength, maxLength + 1);
    return this.#chance.pick(["x", "é", "🦆"]).repeat(this.#length(lengths));
  }

  #edgeNumber({ minimum = 0, maximum = 2 ** 31 }: Schema): unknown {
    const [least, most] = [minimum, maximum];
    const step = Number.EPSILON * Math.max(1, Math.abs(most));
    return this.#chance.pick([
      least,
      least - 1,
      most,
      most + 1,
      least + 0.5,
      most + step,
      -most,
      `${least}`,
      [least],
      1e21,
    ]);
  }

  #edgeList(schema: Schema): unknown[] {
    const { minItems = 0, maxItems } = schema;
    const lengths = [minItems, minItems - 1];
    if (maxItems !== undefined) lengths.push(maxItems, maxItems + 1);
    const item = this.fitting(schema.items ?? {});
    if (this.#chance.chance(0.2)) return [item, item];
    const different = (i: number) => (typeof item === "string" ? `${item}${i}` : item);
    return Array.from({ length: this.#length(lengths) }, (_, i) => different(i));
  }

  #edgeObject({ required = [], properties = {}, maxProperties }: Schema, old: unknown): unknown {
    const fields = typeof old === "object" && old !== null ? Object.entries(old) : [];
    const without = (name: string) => Object.fromEntries(fields.filter(([key]) => key !== name));
    const withField = (name: string, value: unknown) => Object.fromEntries([...fields, [name, value]]);
    const chance = this.#chance;
    const most = this.#length([maxProperties ?? 50, (maxProperties ?? 50) + 1]);
    const ways = [
      () => (required.length > 0 ? without(chance.pick(required)) : {}),
      () =>
        withField(
          chance.pick(["bogus", "__proto__", "constructor", "", "\0", "\ud800", "id", "k".repeat(3000)]),
          this.odd(),
        ),
      () => withField(chance.pick([...Object.keys(properties), "x"]), this.odd()),
      () => Object.fromEntries(Array.from({ length: most }, (_, i) => [`k${i}`, "v"])),
      () => fields,
    ];
    return chance.pick(ways)();
  }

  #length(lengths: number[]): number {
    const length = Math.max(0, this.#chance.pick(lengths));
    return length > LARGE && !this.#chance.chance(LARGE_SHARE) ? Math.min(length, 300) : length;
  }

  #nested(): unknown {
    const depth = this.#chance.pick([10, 200, 998, 1001]);
    let value: unknown = 1;
    const isList = this.#chance.chance(0.5);
    for (let i = 0; i < depth; i++) value = isList ? [value] : { a: value };
    return value;
  }

  #places(given: Schema, value: unknown, path: (string | number)[]): Place[] {
    const schema = this.resolve(given);
    const here = { path, schema, value };
    if (Array.isArray(value)) {
      const inner = value.slice(0, 20).flatMap((item, i) => this.#places(schema.items ?? {}, item, [...path, i]));
      return [here, ...inner];
    }
    if (typeof value !== "object" || value === null) return [here];
    const schemaOf = (name: string) =>
      schema.properties?.[name] ?? Object.values(schema.patternProperties ?? {})[0] ?? {};
    const inner = Object.entries(value).flatMap(([name, child]) =>
      this.#places(schemaOf(name), child, [...path, name]),
    );
    return [here, ...inner];
  }
}

interface Place {
  path: (string | number)[];
  schema: Schema;
  value: unknown;
}

function replaced(value: unknown, [first, ...rest]: (string | number)[], by: unknown): unknown {
  if (first === undefined) return by;
  if (Array.isArray(value)) return value.map((item, i) => (i === first ? replaced(item, rest, by) : item));
  const entries = Object.entries(value as Json);
  return Object.fromEntries(entries.map(([name, child]) => [name, name === first ? replaced(child, rest, by) : child]));
}

/** fast-check cannot look ahead. A text that only breaks such a part of a pattern is a hostile one too. */
const withoutLookaheads = (pattern: string) => new RegExp(pattern.replaceAll(/\(\?![^)]*\)/g, ""));
