/** What keeps programs apart from this machine and from each other: what is missing of it, and whether they run all the same. */
import { StartRefused } from "../../ports/compute/compute.ts";

/** Whose programs run where something is missing: those of nobody, of the installation's owner, or of everybody. */
export type Leave = "nobody" | "owner" | "all";

export interface IsolationOptions {
  leave: Leave;
  /** Whether an account is that of the installation's owner. */
  isOwners: (account: string) => Promise<boolean>;
}

export class Isolation {
  readonly #isOwners: IsolationOptions["isOwners"];
  /** By the part that is missing. */
  readonly #gaps = new Map<string, string>();
  #leave: Leave;

  constructor({ leave, isOwners }: IsolationOptions) {
    this.#leave = leave;
    this.#isOwners = isOwners;
  }

  get leave(): Leave {
    return this.#leave;
  }

  /** The owner's programs run from now on, whatever is missing. */
  allowOwner(): void {
    if (this.#leave === "nobody") this.#leave = "owner";
  }

  /** Notes of one part why programs are not kept apart by it; undefined: they are. */
  note(part: string, cannot: string | undefined): void {
    if (cannot === undefined) this.#gaps.delete(part);
    else this.#gaps.set(part, cannot);
  }

  get isWhole(): boolean {
    return this.#gaps.size === 0;
  }

  /** Refuses to run what could not be kept apart. */
  async check(account: string): Promise<void> {
    if (this.isWhole || this.#leave === "all") return;
    if (this.#leave === "owner" && (await this.#isOwners(account))) return;
    throw new StartRefused(
      `programs cannot be kept apart from this machine: ${this.#reasons} (MILLRACE_SANDBOX=optional runs them all the same)`,
      { reason: "sandbox-missing" },
    );
  }

  /** For the operator. */
  get warning(): string | undefined {
    if (this.isWhole) return undefined;
    return this.#leave === "nobody"
      ? `programs cannot be kept apart from this machine, and are refused: ${this.#reasons}`
      : `programs are not kept apart from this machine${this.#leave === "owner" ? ", and run for the owner alone" : ""}: ${this.#reasons}`;
  }

  get #reasons(): string {
    return [...this.#gaps.values()].join("; ");
  }
}
