/** How the answers of a worker determine its health. */
import { describe, expect, test } from "vitest";
import { type Health, intervalOf, isGivenUp, judge, newborn, type Probed } from "../../../balancing/health.ts";

const refused = { failure: "connection refused" };
const status = (code: number): Probed => ({ status: code });

/** The health after these answers, one a second. */
function after(...answers: Probed[]): Health {
  return answers.reduce((health, answer, i) => judge(health, answer, (i + 1) * 1000), newborn(0));
}

describe("phases", () => {
  test.each([
    ["starting", "nothing", []],
    ["starting", "no answer", [refused, refused, refused, refused]],
    ["starting", "204, as long as it likes", [status(204), status(204)]],
    ["starting", "404, which is not the way to say it", [status(404)]],
    ["starting", "a redirect", [status(302)]],
    ["ready", "the first 200", [refused, status(204), status(200)]],
    ["ready", "two failures after a 200", [status(200), refused, status(500)]],
    ["ready", "failures that are not in a row", [status(200), refused, refused, status(200), refused, refused]],
    ["ailing", "three failures in a row", [status(200), refused, status(500), refused]],
    ["ailing", "a 204 after a 200: it says so itself", [status(200), status(204)]],
    ["ready", "a 200 after it ailed", [status(200), refused, refused, refused, status(200)]],
  ])("%s: %s", (phase, _why, answers) => {
    expect(after(...(answers as Probed[])).phase).toBe(phase);
  });
});

test("a worker is asked often at first, then every 2 s until it is ready, and every 5 s from then on", () => {
  const intervals = Array.from({ length: 8 }, (_, i) => intervalOf(after(...Array(i + 1).fill(refused))));
  expect(intervals).toEqual([50, 100, 200, 400, 800, 1600, 2000, 2000]);
  expect(intervalOf(after(status(200)))).toBe(5000);
  expect(intervalOf(after(status(200), refused, refused, refused))).toBe(2000);
});

describe("giving up", () => {
  const EIGHT_MINUTES = 480_000;

  test("comes 8 minutes after the start when nothing good was heard", () => {
    const health = after(refused, status(404));
    expect([isGivenUp(health, EIGHT_MINUTES - 1), isGivenUp(health, EIGHT_MINUTES)]).toEqual([false, true]);
  });

  test("comes 8 minutes after the last 204: a worker that says it is on its way is believed", () => {
    const health = after(status(204), refused);
    expect(isGivenUp(health, EIGHT_MINUTES + 999)).toBe(false);
    expect(isGivenUp(health, EIGHT_MINUTES + 1000)).toBe(true);
  });

  test("does not come while it is ready", () => expect(isGivenUp(after(status(200)), 10 * EIGHT_MINUTES)).toBe(false));
});

test("the reason says what was wrong last", () => {
  expect(after(status(404), refused).reason).toBe("connection refused");
  expect(after(refused, status(503)).reason).toBe("it answered 503");
  expect(after(status(204)).reason).toBe("it is initializing");
});
