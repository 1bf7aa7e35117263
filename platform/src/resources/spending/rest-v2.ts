/** An account and its money as REST v2 says them. */

import { nanosOf, usdOf } from "../../kernel/money.ts";
import type { Handlers } from "../../kernel/operation.ts";
import type { AccountRecord } from "./model.ts";
import type { spendingOperations } from "./operations.ts";
import type { SpendBook, Standing } from "./service.ts";

export const spendingHandlers = (spending: SpendBook): Handlers<typeof spendingOperations> => ({
  getAccount: async ({ caller }) => shown(await spending.standing(caller.account)),
  async updateAccount({ caller, body: { spendLimit, spendWebhook } }) {
    await spending.update(caller, {
      ...(spendLimit !== undefined && { limit: nanosOf(spendLimit) }),
      ...(spendWebhook !== undefined && { webhook: spendWebhook }),
    });
    return shown(await spending.standing(caller.account));
  },
});

export function shown({ id, name, spent, balance, terms, refusal }: Standing): AccountRecord {
  const { limit = 0, most = 0, webhook } = terms;
  return {
    id,
    name,
    balance: balance === undefined ? null : usdOf(balance),
    spentThisMonth: usdOf(spent),
    spendLimit: usdOf(limit),
    spendLimitMost: usdOf(most),
    // The rest of it may hold a token.
    spendWebhook: webhook === undefined ? null : new URL(webhook).origin,
    refusal: refusal?.sentence ?? null,
  };
}
