/** Answers the REST v2 operations on an account's keys. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { nanosOf, usdOf } from "../../kernel/money.ts";
import type { Call, Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import type { Grant } from "../../kernel/scope.ts";
import { ApiKey } from "./model.ts";
import type { accountOperations } from "./operations.ts";
import type { AccountService, ApiKeyItem, NewKey } from "./service.ts";

export function accountHandlers(
  account: AccountService,
  /** Called when a key was deleted. */
  forget: () => void,
): Handlers<typeof accountOperations> {
  return {
    getSshKeys: async ({ caller }) => ({ keys: await account.sshKeys(caller) }),
    async updateSshKeys({ caller, body }) {
      await account.setSshKeys(caller, body.keys);
      return body;
    },
    listApiKeys: async ({ caller }) => ({ apiKeys: (await account.apiKeys(caller)).map(shownKey) }),
    async createApiKey({ caller, body }) {
      const issued = await account.createApiKey(caller, keyFrom(body));
      return { ...shownKey(issued), key: issued.key };
    },
    async deleteApiKey({ caller, params }) {
      await account.removeApiKey(caller, params.id!);
      forget();
    },
  };
}

export function keyFrom({
  expiresAt,
  scopes,
  spendLimit,
  ...plain
}: Call<(typeof accountOperations)["createApiKey"]>["body"]): NewKey {
  return {
    ...plain,
    scopes: scopes as Grant[],
    ...(spendLimit ? { spendLimit: nanosOf(spendLimit) } : {}),
    ...(expiresAt === undefined ? {} : { expiresAt: parseTimestamp(expiresAt)! }),
  };
}

export function shownKey({ id, createdAt, doc, usedAt }: ApiKeyItem): ApiKey {
  const { expiresAt, spendLimit, ...plain } = doc;
  return recordFrom(ApiKey, {
    id,
    ...plain,
    ...(expiresAt !== undefined && { expiresAt: timestamp(expiresAt) }),
    ...(spendLimit !== undefined && { spendLimit: usdOf(spendLimit) }),
    createdAt: timestamp(createdAt),
    lastUsedAt: usedAt === undefined ? null : timestamp(usedAt),
  });
}
