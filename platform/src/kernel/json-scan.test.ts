/** Scanning JSON in pieces: it agrees with the parser, wherever the pieces are cut. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonScan, type Scanned } from "./json-scan.ts";

function scan(text: string, cuts: readonly number[] = [], most = 1000, members = ["output", "error"]): Scanned {
  const bytes = Buffer.from(text);
  const scanner = new JsonScan({ members, kept: ["error"], most });
  let from = 0;
  for (const cut of [...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    scanner.push(bytes.subarray(from, cut));
    from = cut;
  }
  return scanner.end();
}

const isJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const places = fc.array(fc.nat(10_000), { maxLength: 12 });

test("what can be parsed is found whole, with every member where it stands", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      places,
      fc.constantFrom("", " ", "\n\t"),
      (object, cuts, space) => {
        const text = `${space}${JSON.stringify(object, undefined, space)}${space}`;
        const scanned = scan(text, cuts, 1000, Object.keys(object));
        if ("fault" in scanned) throw new Error(`${scanned.fault}: ${text}`);
        expect(scanned.isObject).toBe(true);
        const bytes = Buffer.from(text);
        const found = [...scanned.members].map(([name, { span }]) => [
          name,
          JSON.parse(bytes.toString("utf8", ...span)),
        ]);
        expect(Object.fromEntries(found)).toEqual(JSON.parse(text));
      },
    ),
  );
});

test("what cannot be parsed is not passed", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"',
      "\\",
      "1",
      "-",
      "0",
      ".5",
      "e",
      "E+1",
      "true",
      "nul",
      "null",
      " ",
      "\n",
      "\u0001",
      "\\u00",
      "ü",
    ),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(pieces, places, (parts, cuts) => {
      const text = parts.join("");
      expect("fault" in scan(text, cuts), text).toBe(!isJson(text));
    }),
    { numRuns: 5000 },
  );
});

test.each([
  "",
  " ",
  "{",
  '{"a":1',
  '{"a":1}}',
  '{"a":01}',
  '{"a":1.}',
  '{"a":+1}',
  '{"a":NaN}',
  '{"a":"\n"}',
  '{"a":"\\x"}',
  "[1,]",
  "{,}",
  "1 2",
  "-",
  "tru",
])("%j is not JSON", (text) => {
  for (let cut = 0; cut <= text.length; cut++) expect(scan(text, [cut])).toHaveProperty("fault");
});

test.each(["1", "-0.5e+7", '"text"', "[]", "true", "null", "[[],{}]"])("%s is JSON and no object", (text) => {
  for (let cut = 0; cut <= text.length; cut++) expect(scan(text, [cut])).toMatchObject({ isObject: false });
});

test("of a repeated member the last one counts, however its name is written", () => {
  const text = '{"output":1,"\\u006futput":[2]}';
  const scanned = scan(text) as Exclude<Scanned, { fault: string }>;
  expect(text.slice(...scanned.members.get("output")!.span)).toBe("[2]");
});

test("members of inner objects are not taken for members, and those that nobody asked for are not noted", () => {
  const { members } = scan('{"a":{"error":1},"b":[{"error":2}]}') as Exclude<Scanned, { fault: string }>;
  expect([...members.keys()]).toEqual([]);
});

test("how a member begins is kept, as far as was asked for, across pieces", () => {
  const { members } = scan('{"x":"yy","error":"abcdefghij"}', [3, 19, 20, 22], 5) as Exclude<
    Scanned,
    { fault: string }
  >;
  expect(Buffer.from(members.get("error")!.beginning!).toString()).toBe('"abcd');
  expect(members.get("x")).toBeUndefined();
});

test("nothing is nested so deeply that reading it would cost more than its length", () => {
  expect(scan("[".repeat(1001))).toEqual({ fault: "it is nested deeper than 1000 levels" });
  expect(scan(`${"[".repeat(1000)}${"]".repeat(1000)}`)).toHaveProperty("isObject", false);
});
