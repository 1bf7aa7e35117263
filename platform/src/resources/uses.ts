/** What uses something that must stay while it is used: all who may use it are asked before it is deleted, and named in the refusal. */
import { problem } from "../kernel/problem.ts";

/** What is not deleted under whoever uses it. */
export type Used = "registry" | "template" | "network volume";

interface Thing {
  id: string;
  account: string;
}

interface User {
  id: string;
  name: string;
}

/** One kind of users. Whatever begins to use something touches its record in the same commit, so that no deletion overlooks it. */
export interface Users {
  /** `endpoint`, in sentences. */
  what: string;
  /** Those of its account, up to so many. */
  of(used: Used, thing: Thing, most: number): Promise<User[]>;
}

/** More are not named: a refusal is for people. */
const NAMED_AT_MOST = 10;

export class Uses {
  readonly #users: readonly Users[];

  constructor(users: readonly Users[]) {
    this.#users = users;
  }

  /** Throws while something of its account uses it. */
  async refuseWhileUsed(used: Used, thing: Thing): Promise<void> {
    const named: string[] = [];
    for (const { what, of } of this.#users) {
      const found = await of(used, thing, NAMED_AT_MOST + 1);
      named.push(...found.map((user) => `${what} '${user.name}' (${user.id})`));
    }
    if (named.length === 0) return;
    const more = named.length > NAMED_AT_MOST ? " and others" : "";
    const who = named.slice(0, NAMED_AT_MOST).join(", ") + more;
    throw problem("rule-broken", `This ${used} is in use by ${who}. Change or delete what uses it first.`);
  }
}
