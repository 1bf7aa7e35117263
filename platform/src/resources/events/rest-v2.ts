/** The stream of an account's events as REST v2 gives it. */
import type { Handlers } from "../../kernel/operation.ts";
import type { eventOperations } from "./operations.ts";
import type { AccountEvents } from "./service.ts";

export const eventHandlers = (events: AccountEvents): Handlers<typeof eventOperations> => ({
  streamAccountEvents: ({ caller, lastEventId, gone }) => events.follow(caller, lastEventId, gone),
});
