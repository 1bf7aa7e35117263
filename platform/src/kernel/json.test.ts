/** JSON from outside: what is refused, how the refusal reads, and that hostile bodies cost next to nothing. */
import { describe, expect, test } from "vitest";
import { memberPath, parseJson } from "./json.ts";
import { type Problem, problem } from "./problem.ts";

const parse = (text: string) => parseJson(Buffer.from(text));

function refusalOf(body: string | Uint8Array): Problem {
  try {
    parseJson(typeof body === "string" ? Buffer.from(body) : body);
  } catch (error) {
    return error as Problem;
  }
  throw new Error("it was not refused");
}

test.each([
  ['{"a": [1, 2.5, -3e2, true, null, "x"]}', { a: [1, 2.5, -300, true, null, "x"] }],
  ['"text"', "text"],
  [" \n\t{}\r\n", {}],
  ["\ufeff{}", {}],
  ['"é\\u00e9 😀 \\ud83d\\ude00"', "éé 😀 😀"],
  ['"a \\\\u0000 b"', "a \\u0000 b"],
  ['{"__proto__": {"admin": true}}', JSON.parse('{"__proto__": {"admin": true}}')],
])("%j is read", (text, value) => {
  expect(parse(text)).toEqual(value);
});

describe("malformed JSON", () => {
  test.each([
    ["{", 1],
    ['{"a":1,}', 7],
    ['{"a":1}x', 7],
    ['{"value":"hunter2', 17],
    ["{'value':'hunter2'}", 1],
    ['{"value":"line\nbreak"}', 14],
    ['{"value":"\\x"}', 11],
  ])("%j is refused at position %i", (text, position) => {
    const { code, detail } = refusalOf(text);
    expect(code).toBe("unreadable");
    expect(detail).toBe(`The request body is not valid JSON (at position ${position}).`);
  });

  test.each([
    "",
    "   ",
    "hunter2",
    '{"value": hunter2}',
    '{"value":"hunter2"',
    '{"value":"hunter2"}hunter2',
    "{'hunter2':1}",
    '["hunter2\\q"]',
    "undefined",
    "NaN",
    "[1,]",
  ])("%j is refused without quoting any of it", (text) => {
    const { code, detail, cause } = refusalOf(text);
    expect(code).toBe("unreadable");
    expect(detail).toMatch(/^The request body is not valid JSON( \(at position \d+\))?\.$/);
    expect(cause).toBeUndefined();
  });

  test("text that looks like a position is not taken for one", () => {
    expect(refusalOf("at position 4242").detail).not.toContain("4242");
    expect(refusalOf('{"pin": at position 4242 (line 1 column 2)}').detail).not.toContain("4242");
  });
});

test.each([
  ["a lone continuation byte", [0x22, 0x80, 0x22]],
  ["a sequence cut short", [0x22, 0xc3, 0x22]],
  ["an overlong form", [0x22, 0xc0, 0xaf, 0x22]],
  ["a surrogate", [0x22, 0xed, 0xa0, 0x80, 0x22]],
  ["UTF-16", [0xff, 0xfe, 0x22, 0x00, 0x22, 0x00]],
])("%s is not UTF-8", (_what, bytes) => {
  const { code, detail } = refusalOf(Uint8Array.from(bytes));
  expect(code).toBe("unreadable");
  expect(detail).toBe("The request body is not valid UTF-8.");
});

describe("text that no store could keep", () => {
  const nul = "must not contain the character U+0000";
  const half = "must not contain half of a surrogate pair";

  test.each([
    ['{"value": "a\\u0000b"}', [`$.value: ${nul}`]],
    ['"\\u0000"', [`$: ${nul}`]],
    ['{"value": "\\ud83d"}', [`$.value: ${half}`]],
    ['{"value": "\\uDE00\\uD83D"}', [`$.value: ${half}`]],
    ['{"env": {"A B": ["x", "\\udfff"]}}', [`$.env["A B"][1]: ${half}`]],
    ['{"keys": [{"k": "\\u0000"}, "fine", "\\u0000"]}', [`$.keys[0].k: ${nul}`, `$.keys[2]: ${nul}`]],
    ['{"a\\u0000b": 1}', [`$: a property name ${nul}`]],
    ['{"env": {"\\ud800": "x"}}', [`$.env: a property name ${half}`]],
    ['{"b": "\\u0000", "a": "\\u0000"}', [`$.b: ${nul}`, `$.a: ${nul}`]],
  ])("%s is refused", (text, errors) => {
    const refusal = refusalOf(text);
    expect(refusal.code).toBe("unstorable");
    expect(refusal.detail).toBe("Request validation failed.");
    expect(refusal.errors).toEqual(errors);
  });

  test("is reported at most 20 times", () => {
    const many = Array.from({ length: 100 }, () => "\0");
    expect(refusalOf(JSON.stringify(many)).errors).toHaveLength(20);
    const names = Object.fromEntries(many.map((text, i) => [`${text}${i}`, 1]));
    expect(refusalOf(JSON.stringify(names)).errors).toHaveLength(20);
  });

  test("under a hostile name is reported in a few words", () => {
    const body = JSON.stringify({ ["😀".repeat(100_000)]: { ["n".repeat(100_000)]: "\0" } });
    const [error] = refusalOf(body).errors!;
    expect(error!.length).toBeLessThan(500);
    expect(error!.isWellFormed()).toBe(true);
    expect(error).toMatch(/: must not contain the character U\+0000$/);
  });

  test("deep inside is reported in a few words", () => {
    const body = `${"[".repeat(1000)}"\\u0000"${"]".repeat(1000)}`;
    expect(refusalOf(body).errors![0]!.length).toBeLessThan(500);
  });
});

describe("deep nesting", () => {
  const tooDeep = problem("unreadable", "The request body is nested deeper than 1000 levels.");

  test("1,000 levels are read", () => {
    expect(JSON.stringify(parse("[".repeat(1000) + "]".repeat(1000)))).toHaveLength(2000);
  });

  test.each([
    ["1,001 arrays", "[".repeat(1001) + "]".repeat(1001)],
    ["1,001 objects", `${'{"a":'.repeat(1001)}1${"}".repeat(1001)}`],
    ["501 arrays in 500 objects", `${"[".repeat(501)}${'{"a":'.repeat(500)}1${"}".repeat(500)}${"]".repeat(501)}`],
    ["1 MiB of opening brackets", "[".repeat(1_048_576)],
    ["1 MiB of nested arrays", "[".repeat(524_288) + "]".repeat(524_288)],
    ["nesting after a text with escaped quotes", `["\\\\\\"]]]",${"[".repeat(2000)}`],
  ])("%s are refused", (_what, text) => {
    expect(refusalOf(text)).toEqual(tooDeep);
  });

  test.each([
    ["in a text", JSON.stringify("[{".repeat(5000))],
    ["in a text after an escaped quote", JSON.stringify(`"${"[".repeat(5000)}`)],
    ["in a text that ends with a backslash", JSON.stringify(["\\", "[".repeat(5000), "\\\\"])],
    ["in a property name", JSON.stringify({ ["[".repeat(5000)]: 1 })],
    ["side by side", `[${"[],".repeat(5000)}[]]`],
  ])("brackets %s are no nesting", (_where, text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });
});

test("a path shows plain names after a dot and others in brackets", () => {
  expect(memberPath("$", "value")).toBe("$.value");
  expect(memberPath("$.env", "A-B")).toBe('$.env["A-B"]');
  expect(memberPath("$", "1a")).toBe('$["1a"]');
  expect(memberPath("$", "")).toBe('$[""]');
  expect(memberPath("$", 'a"b')).toBe('$["a\\"b"]');
});

describe("how many values a body holds", () => {
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join(",")}}`;

  test("more than any shape needs are refused before they are read", () => {
    const refused = { code: "invalid", errors: ["$: holds more than 25000 values"] };
    for (const text of [members(25_002), `[${"{},".repeat(30_000)}{}]`, `{"a":[${"[],".repeat(30_000)}[]]}`])
      expect(() => parseJson(Buffer.from(text))).toThrow(expect.objectContaining(refused));
    expect(Object.keys(parseJson(Buffer.from(members(25_001))) as object)).toHaveLength(25_001);
  });

  test("commas within texts are none of them", () => {
    const text = ',"\\,'.repeat(30_000);
    expect(parseJson(Buffer.from(JSON.stringify({ text })))).toEqual({ text });
  });
});
