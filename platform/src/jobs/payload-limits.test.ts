/** The setting of the payload limits: what it means, and what is refused at the start. */
import { expect, test } from "vitest";
import { parsePayloadLimits } from "./payload-limits.ts";

const MIB = 1024 * 1024;

test("three numbers of MB, for /run, /runsync and results", () => {
  expect(parsePayloadLimits("10,20,20")).toEqual({ run: 10 * MIB, runsync: 20 * MIB, output: 20 * MIB });
  expect(parsePayloadLimits("1, 2, 256")).toEqual({ run: MIB, runsync: 2 * MIB, output: 256 * MIB });
});

test.each(["", "10", "10,20", "10,20,20,20", "0,20,20", "10,-1,20", "10,20,257", "10,1.5,20", "10,20,many"])(
  "'%s' is refused with the reason",
  (text) => {
    const reason = `MILLRACE_PAYLOAD_LIMITS must be three numbers of MB from 1 to 256, not '${text}'`;
    expect(() => parsePayloadLimits(text)).toThrow(reason);
  },
);
