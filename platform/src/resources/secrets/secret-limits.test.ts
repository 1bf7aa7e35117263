/** The limits of the secret update, to the byte. The specification counts UTF-8 bytes, however the JSON is escaped. */
import { describe, expect, test } from "vitest";
import { withSecret as setup } from "../../../tests/secret.ts";
import { failures } from "../../kernel/validate.ts";
import { DESCRIPTION_MAX_BYTES, Secret, VALUE_MAX_BYTES } from "./model.ts";

const TOO_LONG = "$.value: must be at most 16777215 bytes of UTF-8";

describe("Limits: secret value, at least 1 and strictly fewer than 16,777,216 bytes of UTF-8", () => {
  test("the limit is the specification's", () => expect(VALUE_MAX_BYTES).toBe(16_777_216 - 1));

  // 16,777,215 is 3 × 5,592,405.
  test.each([
    ["ASCII", "a".repeat(16_777_215)],
    ["three-byte characters", "€".repeat(5_592_405)],
    ["four-byte characters", `${"🌊".repeat(4_194_303)}abc`],
  ])("16,777,215 bytes of %s fit, and one more does not", (_kind, value) => {
    expect(Buffer.byteLength(value)).toBe(16_777_215);
    expect(failures(Secret.update, { value })).toEqual([]);
    expect(failures(Secret.update, { value: `${value}a` })).toEqual([TOO_LONG]);
  });

  // Escapes make a body of 96 MiB.
  test.each([
    ["four-byte characters", `${"🌊".repeat(4_194_303)}abc`, "🌊"],
    ["\\u escapes", "\\u0041".repeat(16_777_215), "A"],
  ])("16,777,215 bytes of %s are accepted", async (_kind, escaped, begins) => {
    await using s = await setup();
    const answer = await s.update(`{"value":"${escaped}"}`);
    expect(answer.status).toBe(200);
    const value = (await s.value())!;
    expect([Buffer.byteLength(value), value.startsWith(begins)]).toEqual([16_777_215, true]);
  });

  test.each([
    ["three-byte characters, far fewer than that in number", `${"€".repeat(5_592_405)}a`],
    ["\\u escapes", "\\u0041".repeat(16_777_216)],
    ["\\u escapes of three-byte characters", `${"\\u20ac".repeat(5_592_405)}a`],
  ])("16,777,216 bytes of %s are refused", async (_kind, escaped) => {
    await using s = await setup();
    const { status, json } = await s.update(`{"value":"${escaped}"}`);
    expect([status, json.errors]).toEqual([422, [TOO_LONG]]);
    expect(await s.value()).toBe("first value");
  });

  test("one byte is accepted", async () => {
    await using s = await setup();
    expect((await s.update({ value: "x" })).status).toBe(200);
    expect(await s.value()).toBe("x");
  });
});

describe("Limits: secret description, at most 65,535 bytes of UTF-8", () => {
  test("the limit is the specification's", () => expect(DESCRIPTION_MAX_BYTES).toBe(65_535));

  test.each([
    ["ASCII", "d".repeat(65_535)],
    ["three-byte characters", "€".repeat(21_845)],
    ["four-byte characters", `${"🌊".repeat(16_383)}abc`],
  ])("65,535 bytes of %s are accepted", async (_kind, description) => {
    await using s = await setup();
    const { status, json } = await s.update({ description });
    expect([status, json.description]).toEqual([200, description]);
  });

  test.each([
    ["ASCII", "d".repeat(65_536)],
    ["three-byte characters", `${"€".repeat(21_845)}d`],
    ["four-byte characters", "🌊".repeat(16_384)],
  ])("65,536 bytes of %s are refused", async (_kind, description) => {
    await using s = await setup();
    const { status, json } = await s.update({ description });
    expect([status, json.errors]).toEqual([422, ["$.description: must be at most 65535 bytes of UTF-8"]]);
    expect(await s.stored()).toEqual(s.secret);
  });
});
