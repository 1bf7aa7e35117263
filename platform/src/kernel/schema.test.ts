/** Schemas are identical to those that TypeBox, whose types they have, would make. */
import Type from "typebox";
import { expect, test } from "vitest";
import { isOptional, t } from "./schema.ts";

type Words = typeof t;
const text = (words: Words) => words.String({ maxLength: 3, "x-flat": "other" });

test.for<[what: string, schema: (words: Words) => object]>([
  ["a text", text],
  ["a number", (words) => words.Number({ minimum: 0.5 })],
  ["a whole number", (words) => words.Integer()],
  ["true or false", (words) => words.Boolean({ default: true })],
  ["null", (words) => words.Null()],
  ["anything", (words) => words.Any()],
  ["anything, which has to be looked at", (words) => words.Unknown({ description: "x" })],
  ["a text itself", (words) => words.Literal("x")],
  ["a value itself", (words) => words.Literal(true, { description: "x" })],
  ["one of several", (words) => words.Union([text(words), words.Null()], { description: "x" })],
  ["a list", (words) => words.Array(text(words), { maxItems: 2 })],
  ["what its writer vouches for", (words) => words.Unsafe<string>({ type: ["string", "null"] })],
  ["a map", (words) => words.Record(words.String({ maxLength: 3 }), text(words), { maxProperties: 2 })],
  ["a map whose keys have a form", (words) => words.Record(words.String({ pattern: "^a" }), text(words))],
  ["an object", (words) => words.Object({ a: text(words), b: words.Optional(text(words)) }, { $id: "X" })],
  ["an object without a field that must be there", (words) => words.Object({ b: words.Optional(text(words)) })],
  [
    "an object whose fields may all be left out",
    (words) =>
      words.Partial(words.Object({ a: text(words), b: words.Optional(text(words)) }, { additionalProperties: false }), {
        minProperties: 1,
      }),
  ],
])("%s", ([, schema]) => {
  // They are compared as text, since the documents depend on the order of keys.
  expect(JSON.stringify(schema(t))).toBe(JSON.stringify(schema(Type)));
});

test("a copy of a field that may be left out must be there again, unless it says so itself", () => {
  const field = t.Optional(t.String());
  expect(isOptional(field)).toBe(true);
  expect(isOptional({ ...field })).toBe(false);
  expect(t.Object({ a: { ...field }, b: t.Optional({ ...field, maxLength: 2 }) })).toMatchObject({ required: ["a"] });
});

test("what may be left out is a schema of its own: the one that it was made of stays as it was", () => {
  const text = t.String();
  expect(isOptional(t.Optional(text))).toBe(true);
  expect(isOptional(text)).toBe(false);
});
