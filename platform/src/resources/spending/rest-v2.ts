/** Answers the REST v2 operations on an account and its money. */

import type { Caller } from "../../kernel/caller.ts";
import { nanosOf, usdOf } from "../../kernel/money.ts";
import type { Handlers } from "../../kernel/operation.ts";
import type { WindowPolicy, WindowState } from "../../ports/limits/limits.ts";
import { accountQuotas, LARGEST_QUOTA } from "../account/model.ts";
import type { QuotaBook } from "../account/quotas.ts";
import type { AccountUsage } from "../account/usage.ts";
import type { AccountRecord } from "./model.ts";
import type { spendingOperations } from "./operations.ts";
import type { SpendBook, Standing } from "./service.ts";

type RequestWindow = WindowPolicy & WindowState;

export interface SpendingServices {
  spending: SpendBook;
  quotas: QuotaBook;
  accountUsage: AccountUsage;
  /** The windows of the caller's rate limit, as its last request left them. */
  requestWindows: (caller: Caller) => RequestWindow[];
}

export const spendingHandlers = ({ spending, ...limits }: SpendingServices): Handlers<typeof spendingOperations> => ({
  getAccount: async ({ caller }) => ({
    ...shown(await spending.standing(caller.account)),
    limits: await limitsOf(caller, limits),
  }),
  async updateAccount({ caller, body: { spendLimit, spendWebhook } }) {
    const { terms } = await spending.standing(caller.account);
    // Reads show only the origin of the webhook. A client that sends that back unchanged keeps the full address.
    const isShown = spendWebhook === shownWebhook(terms);
    await spending.update(caller, {
      ...(spendLimit !== undefined && { limit: nanosOf(spendLimit) }),
      ...(spendWebhook !== undefined && !isShown && { webhook: spendWebhook }),
    });
    return { ...shown(await spending.standing(caller.account)), limits: await limitsOf(caller, limits) };
  },
});

async function limitsOf(
  caller: Caller,
  { quotas, accountUsage, requestWindows }: Omit<SpendingServices, "spending">,
): Promise<AccountRecord["limits"]> {
  const [most, used] = await Promise.all([quotas.of(caller.account), accountUsage.of(caller.account)]);
  const uses = accountQuotas.map((name) => [
    name,
    { limit: most[name] >= LARGEST_QUOTA ? null : most[name], used: used[name] },
  ]);
  return {
    quotas: Object.fromEntries(uses),
    requests: requestWindows(caller).map(({ name, quota, seconds, remaining, resetMs }) => ({
      ...{ window: name, seconds, limit: quota, used: quota - remaining },
      resetSeconds: Math.max(0, Math.ceil(resetMs / 1000)),
    })),
  };
}

/** Shows only the origin, since the rest of the address may hold a token. */
export const shownWebhook = ({ webhook }: Standing["terms"]): string | null =>
  webhook === undefined ? null : new URL(webhook).origin;

export function shown({ id, name, spent, balance, terms, refusal }: Standing): Omit<AccountRecord, "limits"> {
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
    refusalCode: refusal?.reason.code ?? null,
  };
}
