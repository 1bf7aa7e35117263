/** Accounts, their users, API keys and SSH keys. */
import type { Kept } from "../../kernel/document.ts";
import { MOST_USD } from "../../kernel/money.ts";
import { type KeptOf, type RecordOf, resource } from "../../kernel/resource.ts";
import { closed, dateTime, name, nullable, oneOf, t } from "../../kernel/schema.ts";
import { type Grant, grants } from "../../kernel/scope.ts";

/** An account owns resources; other accounts cannot tell that they exist. */
export type Account = {
  name: string;
  ownerId: string;
  /** Where it may have more or less than the installation's accounts have anyway. */
  quotas?: Partial<Record<AccountQuota, number>>;
  spending?: Spending;
};

/** What an account may spend, in 1e-9 USD; what is absent is not limited. */
export type Spending = {
  /** In a month, by its own word. */
  limit?: number;
  /** In a month, by the word of whoever runs the installation. */
  most?: number;
  /** Where warnings go. */
  webhook?: string;
  /** What was left at a moment of the credit that was paid for it, and right after the last time it was paid. */
  prepaid?: { left: number; at: number; full: number; creditedAt: number };
};

/** What is counted of an account. */
export type AccountQuota =
  | "workers"
  | "pods"
  | "gpus"
  | "vcpu"
  | "volumes"
  | "gb"
  | "endpoints"
  | "keys"
  | "secrets"
  | "registries"
  | "templates"
  | "s3keys";

export const accounts: Kept<Account> = {
  kind: "account",
  v: 1,
  uniqueEverywhere: ({ name }) => ({ name: name.toLowerCase() }),
  listed: ({ spending = {} }) => ({ spending: Object.keys(spending).length > 0 ? "yes" : undefined }),
};

/** A person in an account. Rate limits count per user, whichever key is used. */
export type User = {
  email: string;
  /** What they want to be told of; absent what they never said. */
  notices?: Partial<Record<Notice, boolean>>;
};

export const notices = ["podsStale", "podsGeneral", "lowBalance", "other"] as const;
export type Notice = (typeof notices)[number];

export const users: Kept<User> = { kind: "user", v: 1 };

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
        "What the key may do: `all`, `read-only`, or a list of `<resource>:read`, `<resource>:write`, `serverless:invoke`, `pods:exec` and `serverless:exec`. `<resource>:write` also reads that resource.",
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
        description: "Whether the key is exempt from rate limits, which the installation's owner alone may say.",
        "x-who": "installation",
      }),
    ),
    spendLimit: t.Optional(
      t.Number({
        minimum: 0,
        maximum: MOST_USD,
        description:
          "What all that the key makes may cost, in USD in a calendar month (UTC); 0 or absent means no limit. A key that has one makes and revokes no keys.",
      }),
    ),
  },
  given: {},
  shown: { exempt: t.Optional(t.Boolean({ description: "True of a key that is exempt from rate limits." })) },
});
export type ApiKey = RecordOf<typeof ApiKey>;

/** The answer to a creation, the only place where a key is ever shown. */
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
    /** In 1e-9 USD in a month. */
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

/** Kept apart from the key, so that noting a use never collides with anything. */
export type KeyUse = { at: number };

export const keyUses: Kept<KeyUse> = { kind: "api-key-use", v: 1 };

/** One line of an authorized_keys file: type, base64 key, optional comment. */
const AUTHORIZED_KEY = "^(ssh|ecdsa|sk)-[^\\s]+ [^\\s]+([ \\t][^\\n\\r]*)?$";

const sshKeyList = {
  keys: t.Array(t.String({ maxLength: 16_384, pattern: AUTHORIZED_KEY }), {
    maxItems: 1000,
    description:
      "Public keys, one authorized_keys line each: whoever has one logs in to every Pod of the account by SSH. Pods created later with `startSsh` are given them.",
  }),
};

export const SshKeys = t.Object(sshKeyList, { $id: "SshKeys" });
export const UpdateSshKeys = closed(sshKeyList, { $id: "UpdateSshKeysRequest" });

/** One document per account, under the account's own id. */
export type KeptSshKeys = { keys: string[] };

export const sshKeys: Kept<KeptSshKeys> = { kind: "ssh-keys", v: 1 };
