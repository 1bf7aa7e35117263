/** Reasons: programs decide by the code, people read the text, and only the account sees what its program said. */
import { describe, expect, test } from "vitest";
import { meanings, problem } from "./problem.ts";
import {
  adding,
  because,
  isReasonCode,
  isStartReason,
  plainText,
  type ReasonCode,
  reasonTables,
  reworded,
  saying,
  together,
  upcastReason,
} from "./reason.ts";
import type { Entry } from "./reasons/entry.ts";

const all = Object.values(reasonTables).flatMap((table) => Object.entries(table as Record<string, Entry>));

describe("the catalogue", () => {
  test("has every code once", () => {
    const codes = all.map(([code]) => code);
    expect(codes.filter((code, i) => codes.indexOf(code) !== i)).toEqual([]);
  });

  test.each(all)("%s is a stable word, with what it means and what to do about it", (code, { means, remedy }) => {
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect([means, remedy]).toEqual([expect.stringMatching(/^[A-Z].*\.$/), expect.stringMatching(/^[A-Z].*\.$/)]);
    expect(`${means}${remedy}`).not.toContain("|");
    expect(isReasonCode(code)).toBe(true);
  });

  test("has a reason for every meaning of a refusal", () => {
    expect(Object.keys(meanings).filter((meaning) => !isReasonCode(meaning))).toEqual([]);
    expect(isReasonCode("toString")).toBe(false);
  });
});

test("a refusal has the code of its meaning, or one that says more", () => {
  expect(problem("not-found", "pod not found").reason).toBe("not-found");
  expect(problem("unauthenticated", "expired", { reason: "key-expired" }).reason).toBe("key-expired");
});

describe("a reason", () => {
  test("is worded from its facts, and keeps them", () => {
    expect(because("quota-reached", { what: "GPUs", used: 2, limit: 2, needed: 4 })).toEqual({
      code: "quota-reached",
      text: "account quota: 2 of 2 GPUs in use, needs 4",
      facts: { what: "GPUs", used: 2, limit: 2, needed: 4 },
    });
    expect(because("paused")).toEqual({ code: "paused", text: "paused: max workers is 0" });
  });

  test("tells others nothing of what a program said, however it is wrapped", () => {
    const ended = adding(because("program-ended", { how: "exit 7" }), ", last lines: the password is x");
    expect(because("not-fit", {}, "the password is x")).toMatchObject({ plain: "not fit to work" });
    const loop = because("crash-loop", { cause: ended.code, failures: 3 }, ended);
    const longer = together([because("paused"), reworded(loop, (text) => `(${text})`)], loop);
    expect(longer.text).toBe("paused: max workers is 0; (crash loop: exit 7, last lines: the password is x)");
    expect(plainText(longer)).toBe("paused: max workers is 0; (crash loop: exit 7)");
    expect([longer.code, longer.facts]).toEqual(["crash-loop", { cause: "program-ended", failures: 3 }]);
    expect(JSON.stringify(longer.facts)).not.toContain("password");
  });

  test("is bounded, whatever is told", () => {
    const { text, facts } = because("pulling-image", { image: "i".repeat(5000), progress: "p".repeat(5000) });
    expect([text.length, String(facts!.image).length]).toEqual([4000, 1000]);
  });

  test("of a start says that there was no program yet", () => {
    const codes: ReasonCode[] = ["image-not-found", "program-ended"];
    expect(codes.map((code) => isStartReason(saying(code, "")))).toEqual([true, false]);
  });

  test("of an older release is its text, which may hold what a program said", () => {
    const old = upcastReason("exit 7, last lines: secret")!;
    expect([old.code, old.text, plainText(old)]).toEqual([
      ...["unspecified", "exit 7, last lines: secret", "recorded by an older release"],
    ]);
    expect([upcastReason(null), upcastReason(undefined), upcastReason(old)]).toEqual([null, null, old]);
  });
});
