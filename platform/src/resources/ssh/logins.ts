/** Decides who may log in to a Pod by SSH: anyone with a key that the Pod's account registered. */
import { hash } from "node:crypto";
import type { Caller } from "../../kernel/caller.ts";
import type { AccountRules } from "../account/rules.ts";
import type { AccountService } from "../account/service.ts";
import { hostName } from "../container/variables.ts";
import type { PodRecords } from "../pods/records.ts";

/** A key in its wire format, which a line of authorized_keys has in base64. */
export type PublicKey = Buffer;

export interface SshLogin {
  pod: string;
  /** A caller that may only run programs in the account's Pods. */
  caller: Caller;
  /** The line of the account's key list that matched. */
  line: string;
}

/** The user name for logging in to a Pod. Its second half only catches typing mistakes. It is not a secret; the keys are. */
export const sshUser = (pod: string) => hostName(pod);

const USER = /^([a-z0-9]{14})-[0-9a-f]{8}$/;
const NOBODY = "nobody";

export class SshLogins {
  readonly #podRecords: PodRecords;
  readonly #account: AccountService;
  readonly #rules: AccountRules;

  constructor(parts: { podRecords: PodRecords; account: AccountService; accountRules: AccountRules }) {
    this.#rules = parts.accountRules;
    this.#podRecords = parts.podRecords;
    this.#account = parts.account;
  }

  /**
   * Returns undefined if the login is refused. The steps are the same whether the name, the Pod, its account or the key is wrong, so that
   * none can be probed.
   */
  async admit(user: string, key: PublicKey): Promise<SshLogin | undefined> {
    const named = USER.exec(user)?.[1] ?? NOBODY;
    const found = await this.#podRecords.pods.get(named);
    const account = found?.account ?? NOBODY;
    const lines = await this.#account.sshKeys({ account });
    const line = lines.find((one) => keyIn(one).equals(key));
    const isKeptOut = await this.#rules.isSuspended(account);
    if (isKeptOut || !found || line === undefined || sshUser(named) !== user) return undefined;
    return { pod: named, line, caller: callerOf(account, key) };
  }
}

/** Reads the key of a line like `ssh-ed25519 AAAA… me@home`. */
const keyIn = (line: string) => Buffer.from(line.split(/[ \t]/)[1] ?? "", "base64");

/** The form in which people compare keys. */
export const fingerprint = (key: PublicKey) => `SHA256:${hash("sha256", key, "base64").replace(/=+$/, "")}`;

const callerOf = (account: string, key: PublicKey): Caller => ({
  account,
  user: "ssh",
  key: fingerprint(key),
  grants: ["pods:exec"],
  exempt: false,
});
