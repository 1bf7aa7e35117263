/** Knows which parts of the isolation between programs and this machine are missing, and whether programs run nevertheless. */
import { StartRefused } from "../../ports/compute/compute.ts";

/** Whose programs run where a part is missing: nobody's, those of the installation's owner, or everybody's. */
export type Leave = "nobody" | "owner" | "all";

export interface IsolationOptions {
  leave: Leave;
  /** Whether an account belongs to the installation's owner. */
  isOwners: (account: string) => Promise<boolean>;
}

export class Isolation {
  readonly #isOwners: IsolationOptions["isOwners"];
  /** The reasons, by the name of the missing part. */
  readonly #gaps = new Map<string, string>();
  #leave: Leave;

  constructor({ leave, isOwners }: IsolationOptions) {
    this.#leave = leave;
    this.#isOwners = isOwners;
  }

  get leave(): Leave {
    return this.#leave;
  }

  /** From now on the owner's programs run, whatever is missing. */
  allowOwner(): void {
    if (this.#leave === "nobody") this.#leave = "owner";
  }

  /** Records why one part does not keep programs apart; undefined means that it does. */
  note(part: string, cannot: string | undefined): void {
    if (cannot === undefined) this.#gaps.delete(part);
    else this.#gaps.set(part, cannot);
  }

  get isWhole(): boolean {
    return this.#gaps.size === 0;
  }

  /** Refuses a program that could not be kept apart. */
  async check(account: string): Promise<void> {
    if (this.isWhole || this.#leave === "all") return;
    if (this.#leave === "owner" && (await this.#isOwners(account))) return;
    throw new StartRefused(
      `programs cannot be isolated from this machine: ${this.#reasons} (MILLRACE_SANDBOX=optional runs them anyway)`,
      { reason: "sandbox-missing" },
    );
  }

  /** The warning for the operator. */
  get warning(): string | undefined {
    if (this.isWhole) return undefined;
    return this.#leave === "nobody"
      ? `programs cannot be isolated from this machine, and are refused: ${this.#reasons}`
      : `programs are not isolated from this machine${this.#leave === "owner" ? ", and run only for the owner" : ""}: ${this.#reasons}`;
  }

  get #reasons(): string {
    return [...this.#gaps.values()].join("; ");
  }
}
