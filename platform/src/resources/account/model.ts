/** Accounts, their users, API keys and SSH keys. */

import type { RequestLimits } from "../../kernel/caller.ts";
import type { Kept } from "../../kernel/document.ts";
import { MOST_USD } from "../../kernel/money.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, name, nullable, oneOf, t } from "../../kernel/schema.ts";
import { type Grant, grants } from "../../kernel/scope.ts";
import type { Role } from "../people/model.ts";

/** An account owns resources; other accounts cannot tell that they exist. */
export type Account = {
  name: string;
  ownerId: string;
  /** Quotas that differ from those of the installation. */
  quotas?: Partial<Record<AccountQuota, number>>;
  spending?: Spending;
  /** Rate limits that differ from those of the installation. */
  requests?: RequestLimits;
  /** Present while the operator keeps the account out. */
  suspended?: { at: number; reason?: string };
};

/** Limits of an account's spending, in 1e-9 USD. An absent limit does not apply. */
export type Spending = {
  /** The monthly limit that the account set for itself. */
  limit?: number;
  /** The monthly limit that the operator of the installation set. */
  most?: number;
  /** The URL that receives warnings. */
  webhook?: string;
  /** The account's prepaid credit: `left` is the balance at the moment `at`, `full` the balance right after the last payment. */
  prepaid?: {
    left: number;
    at: number;
    full: number;
    creditedAt: number;
    /** What `left` already leaves out of the charges for public endpoints in the hour of `at`. Charges are kept by the hour. */
    charged?: number;
  };
};

/** The lower of the two monthly limits, or 0 if there is none. */
export function monthlyLimitOf({ limit = 0, most = 0 }: Spending): number {
  return limit > 0 && most > 0 ? Math.min(limit, most) : limit || most;
}

/** The things that quotas count. */
export const accountQuotas = [
  ...(["workers", "pods", "gpus", "vcpu", "volumes", "gb"] as const),
  ...(["endpoints", "keys", "secrets", "registries", "templates", "s3keys"] as const),
] as const;
export type AccountQuota = (typeof accountQuotas)[number];
/** The same field for each quota. */
export const everyQuota = <T>(of: T) =>
  Object.fromEntries(accountQuotas.map((quotaName) => [quotaName, of])) as Record<AccountQuota, T>;
/** The largest value of a quota, which stands for no limit. */
export const LARGEST_QUOTA = 1_000_000;

export const accounts: Kept<Account> = {
  kind: "account",
  v: 1,
  uniqueEverywhere: ({ name }) => ({ name: name.toLowerCase() }),
  listed: ({ spending = {} }) => ({ spending: Object.keys(spending).length > 0 ? "yes" : undefined }),
};

/** A person in an account. Rate limits count per user, whichever key is used. */
export type User = {
  email: string;
  name?: string;
  /** Absent in records from before there were roles. Those people are owners. */
  role?: Role;
  /** The hash of the password; absent if none was set. */
  password?: string;
  /** A disabled person cannot sign in. */
  disabled?: boolean;
  /** Who the person is at the identity provider by which they sign in. */
  provider?: { issuer: string; subject: string };
  /** The notices that this user turned on or off. A notice that the user never set is absent. */
  notices?: Partial<Record<Notice, boolean>>;
};

export const notices = ["podsStale", "podsGeneral", "lowBalance", "other"] as const;
export type Notice = (typeof notices)[number];

/** What a person who signs in by an identity provider is found by. */
export const identityKey = ({ issuer, subject }: NonNullable<User["provider"]>): string =>
  JSON.stringify([issuer, subject]);

export const users: Kept<User> = {
  kind: "user",
  called: "person",
  v: 1,
  // An email address must belong to one person only, so that it can be used to sign in.
  uniqueEverywhere: ({ email, password }) => ({ signIn: password === undefined ? undefined : email.toLowerCase() }),
  unique: ({ provider }) => ({ provider: provider && identityKey(provider) }),
  listed: ({ password, provider }) => ({
    signIn: password === undefined ? undefined : "password",
    provider: provider && identityKey(provider),
  }),
};

export const roleOf = ({ role = "owner" }: Pick<User, "role">): Role => role;

export const ApiKey = resource("ApiKey", {
  assigned: {
    id: t.String({ description: "Unique key identifier." }),
    createdAt: dateTime("Creation time."),
    lastUsedAt: nullable(dateTime("When the key was last used, to within a minute; null before its first use.")),
  },
  fixed: {
    name: t.Optional(t.String({ minLength: 1, maxLength: 191, description: "Name for people." })),
    scopes: t.Array(oneOf(grants), {
      minItems: 1,
      maxItems: grants.length,
      uniqueItems: true,
      description:
        "What the key may do: `all`, `read-only`, or a list of `<resource>:read`, `<resource>:write`, `serverless:invoke`, `pods:exec`, `serverless:exec` and `installation:metrics`. `<resource>:write` also reads that resource.",
    }),
    endpoints: t.Optional(
      t.Array(name(), {
        minItems: 1,
        maxItems: 1000,
        uniqueItems: true,
        description: "Endpoint ids that the key is narrowed to; absent means every endpoint.",
      }),
    ),
    expiresAt: t.Optional(dateTime("From this time on the key is refused; absent means never.")),
    exempt: t.Optional(
      t.Boolean({
        default: false,
        description: "Whether the key is exempt from rate limits. Only the installation's owner may set this.",
        "x-who": "installation",
      }),
    ),
    spendLimit: t.Optional(
      t.Number({
        minimum: 0,
        maximum: MOST_USD,
        description:
          "The most that everything made with the key may cost in a calendar month (UTC), in USD; 0 or absent means no limit. A key with a limit cannot make or revoke keys.",
      }),
    ),
  },
  given: {},
  shown: { exempt: t.Optional(t.Boolean({ description: "True of a key that is exempt from rate limits." })) },
});
export type ApiKey = RecordOf<typeof ApiKey>;

/** The answer to a creation. No other response ever shows the key. */
export const CreatedApiKey = t.Object(
  { ...ApiKey.record.properties, key: t.String({ description: "The key itself, shown this once." }) },
  { $id: "CreatedApiKey" },
);

export type KeptApiKey = KeptOf<
  typeof ApiKey,
  {
    userId: string;
    digest: string;
    scopes: Grant[];
    expiresAt?: number;
    /** The limit per month, in 1e-9 USD. */
    spendLimit?: number;
  }
>;

export const apiKeys: Kept<KeptApiKey> = {
  kind: "api-key",
  called: "API key",
  v: 1,
  uniqueEverywhere: ({ digest }) => ({ digest }),
  listed: ({ spendLimit }) => ({ limited: spendLimit ? "yes" : undefined }),
};

/** The last use of a key. It is kept apart from the key, so that writing it never conflicts with a change of the key. */
export type KeyUse = { at: number };

export const keyUses: Kept<KeyUse> = { kind: "api-key-use", v: 1 };

/** One line of an authorized_keys file: type, base64 key, optional comment. */
const AUTHORIZED_KEY = "^(ssh|ecdsa|sk)-[^\\s]+ [^\\s]+([ \\t][^\\n\\r]*)?$";

const sshKeyList = {
  keys: t.Array(t.String({ maxLength: 16_384, pattern: AUTHORIZED_KEY }), {
    maxItems: 1000,
    description:
      "Public keys, one authorized_keys line each. Their owners can log in to every Pod of the account by SSH. Pods created later with `startSsh` get them.",
  }),
};

export const SshKeys = t.Object(sshKeyList, { $id: "SshKeys" });
export const UpdateSshKeys = closed(sshKeyList, { $id: "UpdateSshKeysRequest" });

/** One document per account, stored under the account's id. */
export type KeptSshKeys = { keys: string[] };

export const sshKeys: Kept<KeptSshKeys> = { kind: "ssh-keys", v: 1 };
