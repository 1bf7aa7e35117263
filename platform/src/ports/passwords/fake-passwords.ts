/** Passwords for tests: as the port says, but for the time that it takes. */
import { hash } from "node:crypto";
import type { Passwords } from "./passwords.ts";

export class FakePasswords implements Passwords {
  /** How often somebody asked whether a password fits. */
  asked = 0;
  #made = 0;

  async hash(password: string): Promise<string> {
    const salt = String(++this.#made);
    return `${salt}$${digest(salt, password)}`;
  }

  async fits(password: string, kept: string | undefined): Promise<boolean> {
    this.asked++;
    const [salt = "", expected] = kept?.split("$") ?? [];
    return expected !== undefined && digest(salt, password) === expected;
  }
}

const digest = (salt: string, password: string) => hash("sha256", `${salt} ${password}`);
