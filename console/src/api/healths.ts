/** The health of endpoints in a list: that of many comes in one answer, and no endpoint is asked for its own meanwhile. */
import type { QueryClient } from "@tanstack/react-query";
import { type Answer, callAny } from "./client.ts";
import { FIRST_HEALTHS } from "./first-reads.ts";
import { keyOf } from "./queries.ts";
import { inTurn } from "./turns.ts";

interface Read {
  client: QueryClient;
  signal: AbortSignal;
}

const together = keyOf("listEndpointHealth", { query: { limit: FIRST_HEALTHS } });

/** A list may be drawn before that answer is there, as on a slow connection. */
export async function readHealth(endpoint: string, { client, signal }: Read): Promise<unknown> {
  const health = (await comingHealths(client))?.endpoints.find(({ id }) => id === endpoint);
  if (!health) return inTurn(() => callAny("getEndpointHealth", { params: { endpoint_id: endpoint } }, signal));
  const { id: _, ...own } = health;
  return own;
}

/** The answer that is on its way. One that failed is no answer. */
async function comingHealths(client: QueryClient): Promise<Answer<"listEndpointHealth"> | undefined> {
  if (client.isFetching({ queryKey: together, exact: true }) === 0) return undefined;
  return client.fetchQuery<Answer<"listEndpointHealth">>({ queryKey: together }).catch(() => undefined);
}
