/** Keeps names unique within a kind and an account, if the caller asks for that. Not every surface does. */
import type { Claiming } from "../kernel/claim.ts";
import { resourceId } from "../kernel/ids.ts";
import { isProblem, problem } from "../kernel/problem.ts";
import type { Random } from "../kernel/random.ts";
import { LONGEST_NAME } from "../kernel/schema.ts";
import type { Collection } from "../ports/store/collection.ts";
import { WriteRefused } from "../ports/store/store.ts";

/** What a caller says about a name, in addition to the name. */
export interface Naming {
  /** Refuses the name if something else of the kind has it. */
  uniqueName?: boolean;
  /** The name is a default that nobody chose. If it is taken, a similar one is used. */
  isDefaultName?: boolean;
}

interface NamesParts<T extends Claiming> {
  named: Collection<T>;
  /** The kind in messages, such as `endpoint`. */
  called: string;
  random: Random;
  /** Whether this installation keeps names unique at all. */
  isKept: boolean;
}

/** Some clients give many things the same name, and cannot be told to use another. */
const HOW_TO_REUSE =
  "Choose another; or for clients that reuse names, start the server with MILLRACE_UNIQUE_NAMES=off.";

const SUFFIX_LENGTH = 6;

/** Adds a suffix to a name, and shortens the name so that both fit. */
export const withSuffix = (name: string, suffix: string) =>
  `${[...name].slice(0, LONGEST_NAME - suffix.length).join("")}${suffix}`;

export class Names<T extends Claiming> {
  readonly #parts: NamesParts<T>;

  constructor(parts: NamesParts<T>) {
    this.#parts = parts;
  }

  /**
   * Makes something under a name, or under a similar one. `make` has to call `check` each time it reads existing records before it writes.
   */
  async under<Made>(
    account: string,
    { name, uniqueName, isDefaultName }: Naming & { name: string },
    make: (claim: Claiming, check: () => Promise<void>) => Promise<Made>,
  ): Promise<Made> {
    if (!uniqueName || !this.#parts.isKept) return make({ name }, async () => {});
    const claimed = (as: string) =>
      make({ name: as, claimsName: true }, () => this.refuseTaken(account, { name: as, uniqueName })).catch((error) => {
        throw isTaken(error) ? this.#taken(as) : error;
      });
    try {
      return await claimed(name);
    } catch (error) {
      if (!isDefaultName || !isProblem(error, "name-taken")) throw error;
      return claimed(withSuffix(name, `-${resourceId(this.#parts.random).slice(0, SUFFIX_LENGTH)}`));
    }
  }

  /** How a rename changes the claim. Nothing changes if the name stays the same, even if something else has it too. */
  async renamed(
    { id, account, doc }: { id: string; account: string; doc: Claiming },
    { name, uniqueName }: Naming & { name: string | undefined },
  ): Promise<Pick<Claiming, "claimsName">> {
    const isAsked = this.#isAsked(uniqueName);
    if (name === undefined || name === doc.name) return {};
    await this.refuseTaken(account, { name, uniqueName, except: id });
    return isAsked === (doc.claimsName ?? false) ? {} : { claimsName: isAsked };
  }

  async refuseTaken(
    account: string,
    { name, uniqueName, except }: { name: string; uniqueName: boolean | undefined; except?: string },
  ): Promise<void> {
    if (!this.#isAsked(uniqueName)) return;
    const { named } = this.#parts;
    const having = await named.list({ account, key: { name: "name", value: name }, limit: 2 });
    if (having.some(({ id }) => id !== except)) throw this.#taken(name);
  }

  #taken(name: string) {
    const why = `Another ${this.#parts.called} of this account has the name '${name}'.`;
    return problem("name-taken", `${why} ${HOW_TO_REUSE}`);
  }

  #isAsked(uniqueName: boolean | undefined): boolean {
    return this.#parts.isKept && uniqueName === true;
  }
}

/** Somebody else claimed the name between the check and the write. */
const isTaken = (error: unknown) => error instanceof WriteRefused && error.reason === "key-taken";
