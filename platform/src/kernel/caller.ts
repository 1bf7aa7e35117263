/** Who is asking: what authentication finds out about a request. All rules may rely on it. */
import type { Grant } from "./scope.ts";

export interface SignedInPerson {
  email: string;
  /** How the person signed in: by a link, a password, an invitation, the identity provider, or a code on the command line. */
  signedInBy: string;
  signedInAt: number;
}

/** How many requests one person may send, in each window. */
export interface RequestLimits {
  minute: number;
  hour: number;
  day: number;
}

export interface Caller {
  account: string;
  user: string;
  /** The id of the key's record. */
  key: string;
  /** The name that its owner gave the key. */
  keyName?: string;
  /** The endpoint whose worker is calling. Absent for keys that people hold. */
  workerOf?: string;
  /** The person who calls, from a browser or after `millrace login`. `key` is then the id of their session. */
  person?: SignedInPerson;
  /** The Pod that is calling. It may only ask about itself. */
  pod?: string;
  grants: readonly Grant[];
  /** Endpoint ids that the key is narrowed to; absent means every endpoint of the account. */
  endpoints?: readonly string[];
  /** True for a key that acts for the owner of the installation: a key of its first account that may do everything there. */
  ownsInstallation?: boolean;
  /** A caller without a key, who belongs to no account. `user` then says where the request comes from. */
  anonymous?: true;
  /** Exempt from rate limits. */
  exempt: boolean;
  /** The rate limits that the operator set for the account; absent means those of the installation. */
  requestLimits?: RequestLimits;
  /** When the key stops working; absent means never. */
  expiresAt?: number;
}
