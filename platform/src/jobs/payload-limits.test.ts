/** The payload limits setting: how it is read, and which values are refused at the start. */
import { expect, test } from "vitest";
import { parsePayloadLimits } from "./payload-limits.ts";

const MIB = 1024 * 1024;

test("four numbers of MB, for /run, /runsync, results, and results that are kept apart", () => {
  expect(parsePayloadLimits("10,20,20,256")).toEqual({
    ...{ run: 10 * MIB, runsync: 20 * MIB, output: 20 * MIB },
    large: 256 * MIB,
  });
  expect(parsePayloadLimits("1, 2, 256, 4096")).toMatchObject({ output: 256 * MIB, large: 4096 * MIB });
});

test("without the fourth it is 256, or the third where that is no less", () => {
  expect(parsePayloadLimits("10,20,20")).toMatchObject({ output: 20 * MIB, large: 256 * MIB });
  expect(parsePayloadLimits("10,20,256")).toMatchObject({ output: 256 * MIB, large: 256 * MIB });
});

test("0 as the fourth keeps nothing apart", () => {
  expect(parsePayloadLimits("10,20,20,0")).toMatchObject({ output: 20 * MIB, large: 20 * MIB });
});

test.each([
  ...["", "10", "10,20", "10,20,20,19", "10,20,20,4097", "10,20,20,256,1", "10,20,20,", "0,20,20"],
  ...["10,-1,20", "10,20,257", "10,1.5,20", "10,20,many"],
])("'%s' is refused with the reason", (text) => {
  const reason = "must be three numbers of MB from 1 to 256, and a fourth that is 0 or from the third to 4096";
  expect(() => parsePayloadLimits(text)).toThrow(reason);
});
