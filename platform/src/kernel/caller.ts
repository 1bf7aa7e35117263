/** Who is asking: what authentication finds out and every rule below may rely on. */
import type { Grant } from "./scope.ts";

export interface Caller {
  account: string;
  user: string;
  /** The id of the key's record. */
  key: string;
  /** What its owner called it. */
  keyName?: string;
  /** The endpoint whose worker calls; absent for keys that people have. */
  workerOf?: string;
  /** The Pod that calls, which may ask about itself alone. */
  pod?: string;
  grants: readonly Grant[];
  /** Endpoint ids that the key is narrowed to; absent means every endpoint of the account. */
  endpoints?: readonly string[];
  /** Acts for whoever owns the installation: a key of its first account that may do everything there. */
  ownsInstallation?: boolean;
  /** Somebody without a key, who belongs to no account; `user` says where they ask from. */
  anonymous?: true;
  /** Exempt from rate limits. */
  exempt: boolean;
  /** When the key stops working; absent means never. */
  expiresAt?: number;
}
