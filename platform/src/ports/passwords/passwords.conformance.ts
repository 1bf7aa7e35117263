/** What every adapter of passwords does. */
import { describe, expect, test } from "vitest";
import type { Passwords } from "./passwords.ts";

export function passwordsConformance(name: string, open: () => Passwords): void {
  describe(`${name} is a Passwords`, () => {
    test("a password fits what was made of it, and no other does", async () => {
      const passwords = open();
      const kept = await passwords.hash("correct horse battery");
      expect(await passwords.fits("correct horse battery", kept)).toBe(true);
      for (const wrong of ["correct horse", "Correct horse battery", "correct horse battery ", ""])
        expect(await passwords.fits(wrong, kept)).toBe(false);
    });

    test("what is kept does not hold the password, and differs each time", async () => {
      const passwords = open();
      const kept = await Promise.all([1, 2].map(() => passwords.hash("correct horse battery")));
      expect(kept[0]).not.toBe(kept[1]);
      expect(kept.join()).not.toContain("horse");
    });

    test("no password fits where nothing is kept, or something that is no hash", async () => {
      const passwords = open();
      expect(await passwords.fits("correct horse battery", undefined)).toBe(false);
      expect(await passwords.fits("", undefined)).toBe(false);
      expect(await passwords.fits("correct horse battery", "correct horse battery")).toBe(false);
    });

    test("a long password counts to its end", async () => {
      const passwords = open();
      const long = "é".repeat(199);
      const kept = await passwords.hash(`${long}a`);
      expect(await passwords.fits(`${long}a`, kept)).toBe(true);
      expect(await passwords.fits(`${long}b`, kept)).toBe(false);
    });

    test("many at once each get their own answer", async () => {
      const passwords = open();
      const kept = await passwords.hash("correct horse battery");
      const said = ["wrong", "correct horse battery", "wrong", "correct horse battery"];
      expect(await Promise.all(said.map((one) => passwords.fits(one, kept)))).toEqual([false, true, false, true]);
    });
  });
}
