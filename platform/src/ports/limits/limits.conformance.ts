/** What every Limits guarantees. This suite defines the port and runs against each adapter. */
import { describe, expect, test } from "vitest";
import type { Limits, Verdict, WindowPolicy } from "./limits.ts";

/** Limits opened for one test. Disposing of them also removes their data. */
export interface OpenedLimits extends AsyncDisposable {
  limits: Limits;
}

const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export const perMinute = (quota: number): WindowPolicy => ({ name: "minute", quota, seconds: 60 });
const perHour = (quota: number): WindowPolicy => ({ name: "hour", quota, seconds: 3600 });

export function limitsConformance(name: string, open: () => Promise<OpenedLimits>): void {
  describe.concurrent(`${name} is a Limits`, () => {
    test("requests are let through until the quota is used up", async () => {
      await using opened = await open();
      const verdicts = await takeInTurn(opened.limits, [perMinute(3)], [0, 1, 2, 3]);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
      expect(verdicts.map(({ windows }) => windows[0]!.remaining)).toEqual([2, 1, 0, 0]);
    });

    test("a window begins with its first request, not with the minute on the clock", async () => {
      await using opened = await open();
      const verdicts = await takeInTurn(opened.limits, [perMinute(1)], [59_000, 61_000, 118_999, 119_000]);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false, false, true]);
      expect(verdicts.map(({ windows }) => windows[0]!.resetMs)).toEqual([MINUTE, 58_000, 1, MINUTE]);
    });

    test("a user whose name no database can hold is counted too", async () => {
      await using opened = await open();
      const take = (user: string) => opened.limits.take(user, [perMinute(1)], START);
      expect((await take("a\u0000\ud800")).allowed).toBe(true);
      expect((await take("a\u0000\ud800")).allowed).toBe(false);
      expect((await take("a")).allowed).toBe(true);
    });

    test("every window is told, in the order of the policy", async () => {
      await using opened = await open();
      const [, second] = await takeInTurn(opened.limits, [perMinute(5), perHour(10)], [0, 1_000]);
      expect(second).toEqual({
        allowed: true,
        windows: [
          { name: "minute", remaining: 3, resetMs: MINUTE - 1_000 },
          { name: "hour", remaining: 8, resetMs: HOUR - 1_000 },
        ],
      });
    });

    test("a request that one window refuses is counted in none", async () => {
      await using opened = await open();
      const policy = [perMinute(1), perHour(2)];
      const verdicts = await takeInTurn(opened.limits, policy, [0, 1, 2, MINUTE]);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false, false, true]);
      expect(verdicts.map(({ windows }) => windows[1]!.remaining)).toEqual([1, 1, 1, 0]);
    });

    test("a longer window refuses while a shorter one has room", async () => {
      await using opened = await open();
      const policy = [perMinute(1), perHour(2)];
      const verdicts = await takeInTurn(opened.limits, policy, [0, MINUTE, 2 * MINUTE, HOUR]);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false, true]);
      expect(verdicts[2]!.windows).toMatchObject([{ remaining: 1 }, { remaining: 0, resetMs: HOUR - 2 * MINUTE }]);
    });

    test("a refused request begins no window", async () => {
      await using opened = await open();
      const policy = [perMinute(1), { name: "two minutes", quota: 1, seconds: 120 }];
      const verdicts = await takeInTurn(opened.limits, policy, [0, 90_000, 120_000]);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, false, true]);
      expect(verdicts[2]!.windows[0]).toMatchObject({ remaining: 0, resetMs: MINUTE });
    });

    test("a clock set back begins the window anew, rather than keep the user out until it catches up", async () => {
      await using opened = await open();
      const verdicts = await takeInTurn(opened.limits, [perMinute(1)], [HOUR, 0, 1]);
      expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
      expect(verdicts[1]!.windows[0]!.resetMs).toBe(MINUTE);
    });

    test("users are counted apart", async () => {
      await using opened = await open();
      const take = (user: string) => opened.limits.take(user, [perMinute(1)], START);
      expect([await take("u1"), await take("u2"), await take("u1")].map(({ allowed }) => allowed)).toEqual([
        true,
        true,
        false,
      ]);
    });

    test("a quota of zero lets nothing through, and no windows let through everything", async () => {
      await using opened = await open();
      expect((await opened.limits.take("u1", [perMinute(0)], START)).allowed).toBe(false);
      expect(await opened.limits.take("u1", [], START)).toEqual({ allowed: true, windows: [] });
    });

    test("a changed policy applies to what has been counted", async () => {
      await using opened = await open();
      await takeInTurn(opened.limits, [perMinute(5), perHour(9)], [0, 1, 2]);
      const lowered = await opened.limits.take("u", [perMinute(2)], START + 3);
      expect(lowered).toEqual({ allowed: false, windows: [{ name: "minute", remaining: 0, resetMs: MINUTE - 3 }] });
      const widened = await opened.limits.take("u", [perMinute(5), perHour(9)], START + 4);
      expect(widened).toMatchObject({ allowed: true, windows: [{ remaining: 1 }, { remaining: 8 }] });
    });

    test("of 200 requests at once on a quota of 100, 100 are let through", async () => {
      await using opened = await open();
      const asks = Array.from({ length: 200 }, () => opened.limits.take("u", [perMinute(100), perHour(500)], START));
      const verdicts = await Promise.all(asks);
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(100);
      expect(new Set(allowedRemainders(verdicts)).size).toBe(100);
    });
  });
}

/** Returns the remaining count that each allowed request saw. Each sees the count that it caused itself. */
export function allowedRemainders(verdicts: Verdict[]): number[] {
  return verdicts.filter(({ allowed }) => allowed).map(({ windows }) => windows[0]!.remaining);
}

/** Takes one user's requests at these moments, one after another. */
async function takeInTurn(limits: Limits, policy: WindowPolicy[], moments: number[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const moment of moments) verdicts.push(await limits.take("u", policy, START + moment));
  return verdicts;
}
