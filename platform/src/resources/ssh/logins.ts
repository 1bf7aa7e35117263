/** Who may log in to which Pod by SSH: whoever has a key that the Pod's account registered. */
import { hash } from "node:crypto";
import type { Caller } from "../../kernel/caller.ts";
import type { AccountService } from "../account/service.ts";
import { hostName } from "../container/variables.ts";
import type { PodRecords } from "../pods/records.ts";

/** A key as it comes over the wire, in the form in which a line of authorized_keys has it in base64. */
export type PublicKey = Buffer;

export interface SshLogin {
  pod: string;
  /** What it may do: run programs in the account's Pods. */
  caller: Caller;
  /** The line of the account's list that has the key. */
  line: string;
}

/** The name by which one logs in to a Pod. Its second half tells a mistyped one: it is no secret, the keys are. */
export const sshUser = (pod: string) => hostName(pod);

const USER = /^([a-z0-9]{14})-[0-9a-f]{8}$/;
const NOBODY = "nobody";

export class SshLogins {
  readonly #podRecords: PodRecords;
  readonly #account: AccountService;

  constructor(parts: { podRecords: PodRecords; account: AccountService }) {
    this.#podRecords = parts.podRecords;
    this.#account = parts.account;
  }

  /** Undefined for whoever may not: by the same steps whether it is the name, the Pod, its account or the key that is wrong. */
  async admit(user: string, key: PublicKey): Promise<SshLogin | undefined> {
    const named = USER.exec(user)?.[1] ?? NOBODY;
    const found = await this.#podRecords.pods.get(named);
    const account = found?.account ?? NOBODY;
    const lines = await this.#account.sshKeys({ account });
    const line = lines.find((one) => keyIn(one).equals(key));
    if (!found || line === undefined || sshUser(named) !== user) return undefined;
    return { pod: named, line, caller: callerOf(account, key) };
  }
}

/** Of a line such as `ssh-ed25519 AAAA… me@home`. */
const keyIn = (line: string) => Buffer.from(line.split(/[ \t]/)[1] ?? "", "base64");

/** The name that people know a key by. */
export const fingerprint = (key: PublicKey) => `SHA256:${hash("sha256", key, "base64").replace(/=+$/, "")}`;

const callerOf = (account: string, key: PublicKey): Caller => ({
  account,
  user: "ssh",
  key: fingerprint(key),
  grants: ["pods:exec"],
  exempt: false,
});
