/** Answers the REST v2 operations on an account and its money. */

import { nanosOf, usdOf } from "../../kernel/money.ts";
import type { Handlers } from "../../kernel/operation.ts";
import type { AccountRecord } from "./model.ts";
import type { spendingOperations } from "./operations.ts";
import type { SpendBook, Standing } from "./service.ts";

export const spendingHandlers = (spending: SpendBook): Handlers<typeof spendingOperations> => ({
  getAccount: async ({ caller }) => shown(await spending.standing(caller.account)),
  async updateAccount({ caller, body: { spendLimit, spendWebhook } }) {
    const { terms } = await spending.standing(caller.account);
    // Reads show only the origin of the webhook. A client that sends that back unchanged keeps the full address.
    const isShown = spendWebhook === shownWebhook(terms);
    await spending.update(caller, {
      ...(spendLimit !== undefined && { limit: nanosOf(spendLimit) }),
      ...(spendWebhook !== undefined && !isShown && { webhook: spendWebhook }),
    });
    return shown(await spending.standing(caller.account));
  },
});

/** Shows only the origin, since the rest of the address may hold a token. */
const shownWebhook = ({ webhook }: Standing["terms"]): string | null =>
  webhook === undefined ? null : new URL(webhook).origin;

export function shown({ id, name, spent, balance, terms, refusal }: Standing): AccountRecord {
  const { limit = 0, most = 0 } = terms;
  return {
    id,
    name,
    balance: balance === undefined ? null : usdOf(balance),
    spentThisMonth: usdOf(spent),
    spendLimit: usdOf(limit),
    spendLimitMost: usdOf(most),
    spendWebhook: shownWebhook(terms),
    refusal: refusal?.sentence ?? null,
  };
}
