/** Values in a JSON text are found where a parser finds them, and replaced without touching anything else. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byteSpans, itemSpans, replaceSpans, valueSpans } from "./json-spans.ts";
import { realRandom } from "./random.ts";

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readInt32LE());
const found = (text: string, ...path: string[]) => valueSpans(text, path).map(([start, end]) => text.slice(start, end));

describe("a value is found", () => {
  test.each([
    ['{"a":{"b":"x"}}', ['"x"']],
    [' { "z" : [ "}" , {"a":1} ] , "a" : { "b" : 1e400 } } ', ["1e400"]],
    ['{"\\u0061":{"b":null}}', ["null"]],
    ['{"a":{"b":"one \\" two \\\\"},"c":"a"}', ['"one \\" two \\\\"']],
    ['{"a":{"b":1},"a":{"b":2,"b":[3]}}', ["1", "2", "[3]"]],
    ['{"a":{"c":{"b":1}},"b":2}', []],
    ['{"a":"b"}', []],
    ["{}", []],
    ["[]", []],
    ['{"a":{}}', []],
  ])("in %s", (text, values) => expect(found(text, "a", "b")).toEqual(values));
});

test(`what is found at any path is what a parser reads there (seed ${seed})`, () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.dictionary(fc.string(), fc.jsonValue())),
      fc.nat({ max: 3 }),
      (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const read = JSON.parse(text) as Record<string, Record<string, unknown>>;
        for (const [outer, members] of Object.entries(read)) {
          for (const [inner, expected] of Object.entries(members))
            expect(JSON.parse(found(text, outer, inner).at(-1)!)).toEqual(expected);
        }
      },
    ),
    { seed, numRuns: 100 },
  );
});

test("a replacement leaves every other character as it was", () => {
  const text = '{ "n": 12345678901234567890, "a": {"b": "old", "c": 1.0}, "t": "\\u0000" }';
  expect(replaceSpans(text, valueSpans(text, ["a", "b"]), ['"new"'])).toBe(text.replace('"old"', '"new"'));
  expect(replaceSpans(text, [], [])).toBe(text);
});

test.each([
  ["[]", []],
  [" [ ] ", []],
  ["[1]", ["1"]],
  ['[ {"a":[1,"]"]} , "x,\\"]" ,\n[[],{}],-1.5e3,null ]', ['{"a":[1,"]"]}', '"x,\\"]"', "[[],{}]", "-1.5e3", "null"]],
])("the items of %s are found as they stand", (text, items) => {
  expect(itemSpans(text).map((span) => text.slice(...span))).toEqual(items);
  expect(items).toHaveLength(JSON.parse(text).length);
});

test("places in text are counted in bytes too", () => {
  const text = '{"é":"ü","€":"😀"}';
  const spans = [...valueSpans(text, ["é"]), ...valueSpans(text, ["€"])];
  const bytes = Buffer.from(text);
  expect(byteSpans(text, spans).map(([start, end]) => bytes.toString("utf8", start, end))).toEqual(['"ü"', '"😀"']);
});
