/** Validation: how each failure is worded, what is counted in bytes, and that an answer stays small. */
import { describe, expect, test } from "vitest";
import { closed, dateTime, nullable, oneOf, type TSchema, t } from "./schema.ts";
import { assertValid, failures } from "./validate.ts";

const words: [rule: string, schema: TSchema, value: unknown, failure: string][] = [
  ["required", closed({ name: t.String() }), {}, "$: property 'name' is required"],
  ["closed", closed({}), { bogus: 1 }, "$: additional properties 'bogus' not allowed"],
  ["type", t.String(), 5, "$: must be string"],
  ["one of several types", t.Unsafe({ type: ["string", "null"] }), 5, "$: must be string or null"],
  ["not empty", t.String({ minLength: 1 }), "", "$: must not be empty"],
  ["minLength", t.String({ minLength: 2 }), "a", "$: must have at least 2 characters"],
  ["maxLength", t.String({ maxLength: 2 }), "abc", "$: must have at most 2 characters"],
  ["x-max-bytes", t.String({ "x-max-bytes": 3 }), "éé", "$: must be at most 3 bytes of UTF-8"],
  ["minProperties 1", t.Object({}, { minProperties: 1 }), {}, "$: must have at least 1 property"],
  ["minProperties 2", t.Object({}, { minProperties: 2 }), {}, "$: must have at least 2 properties"],
  ["minItems 1", t.Array(t.Any(), { minItems: 1 }), [], "$: must have at least 1 item"],
  ["minItems 2", t.Array(t.Any(), { minItems: 2 }), [], "$: must have at least 2 items"],
  ["maxItems 1", t.Array(t.Any(), { maxItems: 1 }), [1, 2], "$: must have at most 1 item"],
  ["maxItems 2", t.Array(t.Any(), { maxItems: 2 }), [1, 2, 3], "$: must have at most 2 items"],
  ["uniqueItems", t.Array(t.String(), { uniqueItems: true }), ["a", "b", "a"], "$: items 0 and 2 are the same"],
  ["minimum", t.Integer({ minimum: 1 }), 0, "$: must be >= 1"],
  ["maximum", t.Integer({ maximum: 10 }), 11, "$: must be <= 10"],
  ["enum", oneOf(["RED", "BLUE"]), "GREEN", "$: must be one of RED, BLUE"],
  ["const", t.Literal("x"), "y", '$: must be "x"'],
  ["pattern", t.String({ pattern: "^a+$" }), "b", "$: must match ^a+$"],
  ["format", dateTime("When."), "tomorrow", "$: must be a valid date-time"],
  ["anyOf", nullable(t.String()), 5, "$: must be string or null"],
  ["oneOf", t.Unsafe({ oneOf: [{ minimum: 1 }, { minimum: 2 }] }), 3, "$: fits none of the forms allowed here"],
  ["a rule without words of its own", t.Integer({ multipleOf: 2 }), 3, "$: breaks the rule 'multipleOf'"],
];

test.each(words)("%s is worded for people", (_rule, schema, value, failure) => {
  expect(failures(schema, value)).toEqual([failure]);
});

test("a value that fits has no failures", () => {
  const schema = closed({ name: t.String({ minLength: 1 }), disk: t.Optional(t.Integer({ minimum: 1 })) });
  expect(failures(schema, { name: "a", disk: 1 })).toEqual([]);
  expect(failures(schema, { name: "a" })).toEqual([]);
});

test("every failure is told, not only the first", () => {
  const schema = closed({ name: t.String(), disk: t.Integer({ minimum: 1 }) });
  expect(failures(schema, { disk: 0, bogus: true })).toEqual([
    "$: property 'name' is required",
    "$: additional properties 'bogus' not allowed",
    "$.disk: must be >= 1",
  ]);
});

test("what was sent is neither changed, nor filled in, nor cut", () => {
  const sent = { value: 5, bogus: 1 };
  const schema = closed({ value: t.String(), disk: t.Optional(t.Integer({ default: 20 })) });
  expect(failures(schema, sent)).toEqual(["$: additional properties 'bogus' not allowed", "$.value: must be string"]);
  expect(sent).toEqual({ value: 5, bogus: 1 });
  const fits = { value: "x" };
  expect(assertValid(schema, fits)).toBe(fits);
  expect(fits).toEqual({ value: "x" });
});

test("a failure deep inside is found by its path", () => {
  const schema = t.Object({ env: t.Record(t.String(), t.String()), ports: t.Array(t.Object({ "a/b": t.Integer() })) });
  const value = { env: { "A B": 1, "~x/y": 2 }, ports: [{ "a/b": 1 }, { "a/b": "x" }] };
  expect(failures(schema, value)).toEqual([
    '$.env["A B"]: must be string',
    '$.env["~x/y"]: must be string',
    '$.ports[1]["a/b"]: must be integer',
  ]);
});

describe("of several forms, the one that was meant is judged", () => {
  const scaling = t.Union([
    closed({ type: t.Literal("QUEUE_DELAY"), queueDelay: t.Number({ minimum: 0.5 }) }),
    closed({ type: t.Literal("REQUEST_COUNT"), requestCount: t.Integer({ minimum: 1 }) }),
  ]);
  const registry = t.Union([t.Null(), t.String({ minLength: 1 }), closed({ id: t.String() })]);
  const gpu = t.Union([
    closed({ pools: t.Array(t.String({ minLength: 1 })), count: t.Optional(t.Integer({ minimum: 1 })) }),
    closed({ id: t.String(), count: t.Optional(t.Integer({ minimum: 1 })) }),
  ]);

  test.each<[why: string, schema: TSchema, value: unknown, ...failures: string[]]>([
    ["by its constant", scaling, { type: "QUEUE_DELAY", queueDelay: 0 }, "$.queueDelay: must be >= 0.5"],
    [
      "by its constant, whatever else it has",
      scaling,
      { type: "QUEUE_DELAY", requestCount: 1 },
      "$: property 'queueDelay' is required",
      "$: additional properties 'requestCount' not allowed",
    ],
    ["with a constant that no form has", scaling, { type: "X" }, "$.type: must be one of QUEUE_DELAY, REQUEST_COUNT"],
    ["by its fields", scaling, { requestCount: 0 }, "$: property 'type' is required", "$.requestCount: must be >= 1"],
    ["by its fields, without a constant", gpu, { id: 5 }, "$.id: must be string"],
    [
      "by a field that both have, and one that one has",
      gpu,
      { pools: [""], count: 1 },
      "$.pools[0]: must not be empty",
    ],
    ["by its type", registry, "", "$: must not be empty"],
    ["by being an object", registry, {}, "$: property 'id' is required"],
    ["of no type that any form has", registry, 5, "$: must be null or string or object"],
    [
      "in a list",
      t.Array(scaling),
      [{ type: "X" }, 1],
      "$[0].type: must be one of QUEUE_DELAY, REQUEST_COUNT",
      "$[1]: must be object",
    ],
    [
      "within another",
      nullable(closed({ scaling: nullable(scaling) })),
      { scaling: { type: "QUEUE_DELAY", queueDelay: 0 } },
      "$.scaling.queueDelay: must be >= 0.5",
    ],
  ])("%s", (_why, schema, value, ...expected) => {
    expect(failures(schema, value)).toEqual(expected);
  });

  test("many failures of many forms are told up to 20", () => {
    const list = Array.from({ length: 500 }, () => ({ type: "QUEUE_DELAY", queueDelay: 0 }));
    expect(failures(t.Array(scaling), list)).toHaveLength(20);
  });
});

test("assertValid refuses with all failures in one problem", () => {
  expect(() => assertValid(closed({ name: t.String() }), { bogus: 1 })).toThrow(
    expect.objectContaining({
      code: "invalid",
      detail: "Request validation failed.",
      errors: ["$: property 'name' is required", "$: additional properties 'bogus' not allowed"],
    }),
  );
});

describe("x-max-bytes counts bytes of UTF-8, not characters", () => {
  const schema = t.String({ "x-max-bytes": 4 });
  test.each([
    ["four letters", "abcd", true],
    ["five letters", "abcde", false],
    ["two letters of two bytes", "éé", true],
    ["three letters of two bytes", "ééé", false],
    ["one sign of four bytes", "😀", true],
    ["one sign of four bytes and a letter", "😀a", false],
    ["nothing", "", true],
  ])("%s", (_what, text, fits) => {
    expect(failures(schema, text)).toEqual(fits ? [] : ["$: must be at most 4 bytes of UTF-8"]);
  });
});

test("maxLength counts characters, a sign of four bytes as one", () => {
  expect(failures(t.String({ maxLength: 2 }), "😀😀")).toEqual([]);
  expect(failures(t.String({ maxLength: 2 }), "😀😀😀")).toEqual(["$: must have at most 2 characters"]);
});

test.each([
  ["2026-12-31T23:59:60Z", true],
  ["2026-12-31T10:00:00+05:00", true],
  ["2026-12-31T10:00:00+05", false],
  ["2026-02-30T10:00:00Z", false],
  ["2026-12-31", false],
])("the time %s is valid: %s, since only what names an instant passes", (text, valid) => {
  expect(failures(dateTime("When."), text)).toEqual(valid ? [] : ["$: must be a valid date-time"]);
});

describe("a hostile body gets a small answer", () => {
  const schema = closed({ name: t.String() });
  const bogus = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key${i}`, i]));

  test("at most 20 failures are told", () => {
    expect(failures(schema, { name: "a", ...bogus(21) })).toHaveLength(20);
    expect(failures(schema, { name: "a", ...bogus(20) })).toHaveLength(20);
    expect(failures(schema, { name: "a", ...bogus(19) })).toHaveLength(19);
  });

  test("a very large value is told its first failure alone", () => {
    expect(failures(schema, { name: "a", ...bogus(5000) })).toEqual(["$: additional properties 'key0' not allowed"]);
    const list = t.Array(t.String());
    expect(failures(list, new Array(5000).fill(1))).toEqual(["$[0]: must be string"]);
    expect(failures(list, new Array(5000).fill("fine"))).toEqual([]);
  });

  test("a long property name is clipped, and never in the middle of a sign", () => {
    expect(failures(schema, { name: "a", ["x".repeat(100_000)]: 1 })).toEqual([
      `$: additional properties '${"x".repeat(100)}…' not allowed`,
    ]);
    const [failure] = failures(schema, { name: "a", [`x${"😀".repeat(100)}`]: 1 });
    expect(failure).toBe(`$: additional properties 'x${"😀".repeat(49)}…' not allowed`);
  });

  test("a property name of 100 characters is shown whole", () => {
    const name = "x".repeat(100);
    expect(failures(schema, { name: "a", [name]: 1 })).toEqual([`$: additional properties '${name}' not allowed`]);
  });

  test("long names in a path are clipped, and so is the path", () => {
    const names = t.Record(t.String(), t.String());
    expect(failures(names, { ["x".repeat(100_000)]: 1 })).toEqual([`$["${"x".repeat(100)}…"]: must be string`]);
    const nested = t.Record(t.String(), t.Record(t.String(), t.Record(t.String(), t.Record(t.String(), t.String()))));
    const long = "y".repeat(1000);
    const [failure] = failures(nested, { [long]: { [long]: { [long]: { [long]: 5 } } } });
    expect(failure!.length).toBeLessThan(450);
    expect(failure).toMatch(/…: must be string$/);
  });
});
