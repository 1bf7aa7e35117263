/** Names that no two things of a kind in an account share: where a caller asks for that, since not every surface does. */
import type { Claiming } from "../kernel/claim.ts";
import { resourceId } from "../kernel/ids.ts";
import { isProblem, problem } from "../kernel/problem.ts";
import type { Random } from "../kernel/random.ts";
import { LONGEST_NAME } from "../kernel/schema.ts";
import type { Collection } from "../ports/store/collection.ts";
import { WriteRefused } from "../ports/store/store.ts";

/** What a caller says of a name beside the name. */
export interface Naming {
  /** It is refused while something else of the kind has it. */
  uniqueName?: boolean;
  /** Nobody gave it: where it is taken, another one like it will do. */
  isDefaultName?: boolean;
}

interface NamesParts<T extends Claiming> {
  named: Collection<T>;
  /** `endpoint`, in sentences. */
  called: string;
  random: Random;
  /** Whether this installation holds to it at all. */
  isKept: boolean;
}

/** Some clients give one name to many, and cannot be told another. */
const HOW_TO_REUSE =
  "Choose another; or for clients that reuse names, start the server with MILLRACE_UNIQUE_NAMES=off.";

const SUFFIX_LENGTH = 6;

/** A name that is told from another by its end, and no longer than names are. */
export const withSuffix = (name: string, suffix: string) =>
  `${[...name].slice(0, LONGEST_NAME - suffix.length).join("")}${suffix}`;

export class Names<T extends Claiming> {
  readonly #parts: NamesParts<T>;

  constructor(parts: NamesParts<T>) {
    this.#parts = parts;
  }

  /** Makes something under a name, or under one like it. `make` asks `check` whenever it reads what is there before it writes. */
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

  /** What a change of name makes of the claim; nothing where the name stays, whoever else has it. */
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

/** Somebody else claimed it between the look and the write. */
const isTaken = (error: unknown) => error instanceof WriteRefused && error.reason === "key-taken";
