/** Puts what the first view of a page reads into the cache before it is drawn, so that it is drawn once and not piece by piece. */
import { notifyManager, type QueryClient } from "@tanstack/react-query";
import { type Answer, callAny } from "./client.ts";
import { FIRST_READS, type FirstRead } from "./first-reads.ts";
import { keyOf } from "./queries.ts";
import { pageToken } from "./session.ts";

/** Resolves when all of it is there. A read that fails is left to the page, which asks again and shows why. */
export async function readFirstView(cache: QueryClient, path: string, id: string | undefined): Promise<void> {
  if (pageToken() === null) return;
  const me = readInto(cache, { name: "getMe" }, id);
  // A view in the address may ask for other rows.
  const reads = location.search === "" ? (FIRST_READS[path] ?? []) : [];
  const now = reads.filter(({ isOfQueue }) => !isOfQueue).map((read) => readInto(cache, read, id));
  const answer = await now[0];
  const isQueue = (answer as { type?: string } | undefined)?.type === "QUEUE";
  const later = reads.filter(({ isOfQueue }) => isOfQueue && isQueue).map((read) => readInto(cache, read, id));
  await Promise.all([me, ...now, ...later]);
}

/** Under the key that `useRead` and the lists have for it: a page that is drawn meanwhile waits for the same answer. */
async function readInto(cache: QueryClient, read: FirstRead, id = ""): Promise<unknown> {
  const { name, query, firstPage } = read;
  const params =
    read.params &&
    Object.fromEntries(Object.entries(read.params).map(([key, value]) => [key, value.replace("$id", id)]));
  const ask = { ...(params && { params }), ...(query && { query }) };
  if (firstPage === undefined) {
    const queryKey = keyOf(name, ask);
    await cache.prefetchQuery({ queryKey, queryFn: ({ signal }) => callAny(name, ask, signal) });
    const answer = cache.getQueryData(queryKey);
    if (name === "listEndpointHealth") keepEach(cache, answer as Answer<"listEndpointHealth"> | undefined);
    return answer;
  }
  const queryKey = keyOf(name, { params, query: query ?? {}, paged: true });
  const asked = { ...ask, query: { ...query, ...(firstPage !== "" && firstPage) } };
  await cache.prefetchInfiniteQuery({
    queryKey,
    queryFn: ({ signal }) => callAny(name, asked, signal),
    initialPageParam: firstPage,
  });
  return cache.getQueryData(queryKey);
}

/** As if each endpoint had been asked for its own: a list asks for no more of those in sight, and events keep each fresh by itself. */
function keepEach(cache: QueryClient, answer: Answer<"listEndpointHealth"> | undefined): void {
  notifyManager.batch(() => {
    for (const { id, ...health } of answer?.endpoints ?? [])
      cache.setQueryData(keyOf("getEndpointHealth", { params: { endpoint_id: id } }), health);
  });
}
