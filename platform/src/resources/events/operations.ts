/** The operation that streams what changes in an account. */
import type { Operations } from "../../kernel/operation.ts";
import { AccountEvent, MOST_STREAMS, streamedResources } from "./model.ts";

export const eventOperations = {
  streamAccountEvents: {
    method: "GET",
    path: "/v2/account/events",
    tag: "Account",
    summary: "Stream what changes in the account",
    description:
      "Server-sent events. The stream shows what the key may read. It begins with `reset`, or continues after `Last-Event-ID`. " +
      `An account may have ${MOST_STREAMS} streams at once on a node.`,
    events: AccountEvent,
    status: 200,
    scope: "account:read",
    orAnyOf: [...new Set(Object.values(streamedResources))],
    narrowed: "own",
  },
} as const satisfies Operations;
