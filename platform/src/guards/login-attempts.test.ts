/** The limit on failed logins per address. */
import { describe, expect, test } from "vitest";
import { FakeClock } from "../kernel/clock.ts";
import { partyOf } from "../kernel/party.ts";
import {
  FORGOTTEN_MS,
  FREE_FAILURES,
  KEPT_OUT_MS,
  LEAST_DELAY_MS,
  LONGEST_DELAY_MS,
  LoginAttempts,
  MOST_FAILURES,
} from "./login-attempts.ts";

const HERE = "192.0.2.1";

function setup() {
  const clock = new FakeClock();
  const attempts = new LoginAttempts(clock);
  const fail = (times: number, address = HERE) => Array.from({ length: times }, () => attempts.failed(address)).at(-1);
  return { clock, attempts, fail };
}

test("the first failures take the least time, later ones twice as long as the one before, up to the longest", () => {
  const { attempts, fail } = setup();
  fail(FREE_FAILURES);
  expect(attempts.delayMs(HERE)).toBe(LEAST_DELAY_MS);
  fail(2);
  expect(attempts.delayMs(HERE)).toBe(4 * LEAST_DELAY_MS);
  fail(10);
  expect(attempts.delayMs(HERE)).toBe(LONGEST_DELAY_MS);
});

test("an address with too many is kept out for a while, and then has little patience left; no other is", async () => {
  const { clock, attempts, fail } = setup();
  expect(fail(MOST_FAILURES - 1)).toBe(false);
  expect(attempts.keptOutMs(HERE)).toBe(0);
  expect(fail(1)).toBe(true);
  expect(attempts.keptOutMs(HERE)).toBe(KEPT_OUT_MS);
  expect(attempts.keptOutMs("192.0.2.2")).toBe(0);
  await clock.advance(KEPT_OUT_MS);
  expect(attempts.keptOutMs(HERE)).toBe(0);
  fail(1);
  expect(attempts.delayMs(HERE)).toBe(2 * LEAST_DELAY_MS);
});

test("failures are forgotten in time, and those before a login count no more", async () => {
  const { clock, attempts, fail } = setup();
  fail(FREE_FAILURES + 3);
  attempts.succeeded(HERE, 2);
  expect(attempts.delayMs(HERE)).toBe(2 * LEAST_DELAY_MS);
  await clock.advance(FORGOTTEN_MS);
  expect(attempts.delayMs(HERE)).toBe(LEAST_DELAY_MS);
});

test("a clock that is set back or forth changes nothing", () => {
  const { clock, attempts, fail } = setup();
  fail(MOST_FAILURES);
  clock.jump(10 * KEPT_OUT_MS);
  expect(attempts.keptOutMs(HERE)).toBe(KEPT_OUT_MS);
});

test("however many addresses fail, what is kept of them is bounded: who failed last is known", () => {
  const { attempts, fail } = setup();
  fail(MOST_FAILURES);
  for (let n = 0; n < 10_000; n++) attempts.failed(`10.0.${n >> 8}.${n & 255}`);
  expect(attempts.keptOutMs(HERE)).toBe(0);
  fail(MOST_FAILURES, "10.0.0.1");
  expect(attempts.keptOutMs("10.0.0.1")).toBe(KEPT_OUT_MS);
});

describe("who counts as one", () => {
  test.each([
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
  ])("%s as %s", (address, party) => expect(partyOf(address)).toBe(party));
});
