/** What holds for every shape of the contract: refusals say what is wrong, and everything that comes in is bounded. */
import { describe, expect, test } from "vitest";
import { operations } from "./contract.ts";
import { type Operation, refusalsOf } from "./kernel/operation.ts";
import type { TSchema } from "./kernel/schema.ts";
import { failures } from "./kernel/validate.ts";
import { restV1Operations } from "./surfaces/rest-v1/operations.ts";

type Json = Record<string, unknown>;

/** Every schema inside a schema, with the path to it. */
function* schemasIn(schema: Json, path = "$"): Generator<[path: string, schema: Json]> {
  yield [path, schema];
  const { properties = {}, patternProperties = {}, items, anyOf = [], oneOf = [], additionalProperties } = schema;
  const named = { ...(properties as Json), ...(patternProperties as Json) };
  for (const [name, child] of Object.entries(named)) yield* schemasIn(child as Json, `${path}.${name}`);
  if (items) yield* schemasIn(items as Json, `${path}[]`);
  for (const [i, form] of [...(anyOf as Json[]), ...(oneOf as Json[])].entries())
    yield* schemasIn(form, `${path}|${i}`);
  if (additionalProperties && typeof additionalProperties === "object")
    yield* schemasIn(additionalProperties as Json, `${path}.*`);
}

const old = Object.entries(restV1Operations).map(([name, operation]) => [`v1 ${name}`, operation]);
const everyOperation: Record<string, Operation> = { ...operations, ...Object.fromEntries(old) };

/** Everything that a caller sends: bodies and queries. */
const requests = Object.entries(everyOperation).flatMap(([name, operation]) =>
  [operation.in, operation.query].flatMap((schema) => (schema ? [[name, schema as unknown as Json] as const] : [])),
);

test("an operation that reads something says that it may refuse what it reads", () => {
  const reading = Object.entries(everyOperation).filter(([, one]) => one.in ?? one.query);
  expect(reading.filter(([, operation]) => !refusalsOf(operation).includes("invalid")).map(([name]) => name)).toEqual(
    [],
  );
});

const unions = requests.flatMap(([name, schema]) =>
  [...schemasIn(schema)]
    .filter(([, { anyOf, oneOf }]) => anyOf ?? oneOf)
    .map(([path, union]) => ({ at: `${name} ${path}`, union })),
);

test("the contract has unions to look at", () => expect(unions.length).toBeGreaterThan(3));

describe.each(unions)("$at", ({ union }) => {
  /** Values that mean one of the forms and have a fault. */
  const probes = ((union.anyOf ?? union.oneOf) as Json[]).flatMap((form) => {
    if (form.type !== "object") return [];
    const properties = Object.entries((form.properties ?? {}) as Record<string, Json>);
    const constants = Object.fromEntries(
      properties.flatMap(([name, { const: value }]) => (value === undefined ? [] : [[name, value]])),
    );
    return [
      constants,
      { ...constants, bogus: 1 },
      ...properties.map(([name]) => ({ ...constants, [name]: Symbol.for })),
    ];
  });

  test("a value with a fault is told what is wrong with the form that was meant", () => {
    for (const probe of [5, 0.25, "", "\u0001", true, {}, [], [{}], { bogus: 1 }, ...probes])
      expect(failures(union as unknown as TSchema, probe).join("\n")).not.toContain("fits none");
  });
});

/** Keywords that contain schemas and that the walk does not enter. */
const UNSEEN = [
  "allOf",
  "not",
  "if",
  "then",
  "else",
  "prefixItems",
  "contains",
  "propertyNames",
  "dependentSchemas",
].concat(["unevaluatedProperties", "unevaluatedItems", "$ref", "$dynamicRef", "$defs"]);

/** Finds patterns like `(a+)+`, which try every way to split a text that does not match. */
const REPEATS_A_REPETITION = /\((?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)[+*{]/;

describe("everything that a caller sends is bounded", () => {
  const places = requests.flatMap(([name, schema]) =>
    [...schemasIn(schema)].map(([path, found]) => ({ at: `${name} ${path}`, found })),
  );
  const without = (type: string[], ...bounds: string[]) =>
    places
      .filter(({ found }) => type.includes(found.type as string) && !bounds.some((bound) => bound in found))
      .map(({ at }) => at);

  test("texts", () => expect(without(["string"], "maxLength", "x-max-bytes", "enum", "const")).toEqual([]));
  test("lists", () => expect(without(["array"], "maxItems")).toEqual([]));
  test("numbers", () => {
    expect(without(["integer", "number"], "minimum")).toEqual([]);
    expect(without(["integer", "number"], "maximum")).toEqual([]);
  });
  test("maps, and objects name their fields", () => {
    const open = places.filter(({ found }) => found.type === "object" && !("maxProperties" in found));
    expect(open.filter(({ found }) => "patternProperties" in found || !("properties" in found))).toEqual([]);
  });
  test("nothing is hidden from these checks behind a keyword that they do not look into", () => {
    const used = new Set(places.flatMap(({ found }) => Object.keys(found)));
    expect([...used].filter((keyword) => UNSEEN.includes(keyword))).toEqual([]);
  });
  test("patterns are read in one go, and texts that must fit one are short", () => {
    const patterns = places.filter(({ found }) => "pattern" in found);
    expect(patterns.length).toBeGreaterThan(3);
    const long = patterns.filter(({ found }) => !((found.maxLength as number) <= 16_384));
    expect(long.map(({ at }) => at)).toEqual([]);
    const keys = places.flatMap(({ found }) => Object.keys((found.patternProperties as Json) ?? {}));
    const all = [...patterns.map(({ found }) => found.pattern as string), ...keys];
    expect(all.filter((pattern) => REPEATS_A_REPETITION.test(pattern))).toEqual([]);
  });
  test("a query in full is short: no list in it has more items than a line has room for", () => {
    const queries = Object.values(everyOperation).flatMap(({ query }) => query ?? []);
    const lists = queries.flatMap((query) =>
      [...schemasIn(query as unknown as Json)].filter(([, { type }]) => type === "array"),
    );
    expect(lists.filter(([, { maxItems }]) => (maxItems as number) > 1000)).toEqual([]);
  });
  test("lists whose items are compared with each other are short", () => {
    const compared = places.filter(({ found }) => found.uniqueItems);
    expect(compared.length).toBeGreaterThan(0);
    expect(compared.filter(({ found }) => (found.maxItems as number) > 1000).map(({ at }) => at)).toEqual([]);
  });
});
