/** Protects things that must stay while they are used: before a deletion all possible users are asked, and the refusal names them. */
import { problem } from "../kernel/problem.ts";

/** The things that cannot be deleted while something uses them. */
export type Used = "registry" | "template" | "network volume";

interface Thing {
  id: string;
  account: string;
}

interface User {
  id: string;
  name: string;
}

/** One kind of user. Anything that begins to use a thing touches its record in the same commit, so that no deletion overlooks it. */
export interface Users {
  /** The kind in messages, such as `endpoint`. */
  what: string;
  /** The users in the thing's account, at most `most` of them. */
  of(used: Used, thing: Thing, most: number): Promise<User[]>;
}

/** A refusal names no more users than this, since people read it. */
const NAMED_AT_MOST = 10;

export class Uses {
  readonly #users: readonly Users[];

  constructor(users: readonly Users[]) {
    this.#users = users;
  }

  /** Throws while something in its account uses the thing. */
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
