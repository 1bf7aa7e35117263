/** Argon2id through its library is as the port says. */
import { expect, test } from "vitest";
import { passwordsConformance } from "../../ports/passwords/passwords.conformance.ts";
import { Argon2Passwords } from "./argon2-passwords.ts";

passwordsConformance("Argon2Passwords", () => new Argon2Passwords());

test("the figures are those that OWASP asks for, or more, and stand in the hash", async () => {
  const hash = await new Argon2Passwords().hash("correct horse battery");
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

test("beyond those that may wait nobody is kept waiting", async () => {
  const passwords = new Argon2Passwords();
  const asked = Array.from({ length: 110 }, () => passwords.fits("no", "no hash"));
  const settled = await Promise.allSettled(asked);
  expect(settled.filter(({ status }) => status === "rejected")).toHaveLength(8);
});
