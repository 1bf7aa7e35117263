/** The rules for passwords, and the form in which they are hashed. */
import { problem } from "../../kernel/problem.ts";

/** Keyboards encode the same letter in different ways, so every password is normalized first. */
export const plain = (password: string): string => password.normalize("NFKC");

/** The schema checks the length. There are no rules about kinds of letters, since they lead to worse passwords. */
export function refuseWeak(password: string, email: string): void {
  if (plain(password).toLowerCase().includes(email.toLowerCase()) || new Set(password).size < DIFFERENT)
    throw problem(
      "rule-broken",
      `A password must not hold the email address, and has ${DIFFERENT} different letters at least.`,
      {
        reason: "weak-password",
      },
    );
}

const DIFFERENT = 5;
