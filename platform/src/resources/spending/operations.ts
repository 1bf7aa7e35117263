/** Operations on an account as a whole. */
import type { Operations } from "../../kernel/operation.ts";
import { AccountRecord, UpdateAccount } from "./model.ts";

const on = { path: "/v2/account", tag: "Account", out: AccountRecord, status: 200, narrowed: "refused" } as const;

export const spendingOperations = {
  getAccount: {
    ...on,
    method: "GET",
    summary: "Get the account, with what it has spent",
    scope: "account:read",
  },
  updateAccount: {
    ...on,
    method: "PATCH",
    summary: "Set what the account may spend",
    description:
      "Changes only the fields sent. Once a limit is reached nothing new is started (402), and nothing that runs is ended. A key that has a limit of its own cannot do this.",
    in: UpdateAccount,
    scope: "account:write",
  },
} as const satisfies Operations;
