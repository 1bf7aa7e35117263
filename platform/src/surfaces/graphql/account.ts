/** The account of whoever asks, as GraphQL says it. */
import type { GraphQLFieldConfigMap } from "graphql";
import { problem } from "../../kernel/problem.ts";
import { spendingOperations } from "../../resources/spending/operations.ts";
import type { GraphContext, OperationFields } from "./context.ts";
import { text } from "./fields.ts";
import { refusalOf } from "./refusals.ts";

/** Known of every key. */
export const ownIdentity: GraphQLFieldConfigMap<unknown, GraphContext> = {
  id: { type: text, resolve: (_source, _args, { caller }) => caller.account },
  authId: { type: text, resolve: (_source, _args, { caller }) => caller.user },
};

export const accountFields = {
  email: {
    type: text,
    operation: spendingOperations.getAccount,
    answer: ({ caller }, { services }) => services.accounts.emailOf(caller),
  },
} satisfies OperationFields;

/** Null for somebody without a key. A Pod's own key speaks for the Pod alone. */
export function myself({ caller }: GraphContext): object | null {
  if (caller.pod !== undefined)
    throw refusalOf(
      problem("not-allowed", "This API key belongs to a Pod, which may get, stop and terminate itself alone."),
    );
  return caller.anonymous ? null : {};
}
