/** The first view of a page finds what it reads in the cache, under the keys that its own reads have. */
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readFirstView } from "./first-view.ts";
import { keyOf } from "./queries.ts";

const ANSWERS: Record<string, unknown> = {
  "/v2/account/me": { scopes: [] },
  "/v2/pods": { pods: [{ id: "p1" }] },
  "/v2/account/serverless/health?limit=25": { endpoints: [{ id: "q", jobs: { inQueue: 3 } }] },
  "/v2/serverless/q": { id: "q", type: "QUEUE" },
  "/v2/serverless/b": { id: "b", type: "LOAD_BALANCER" },
};
let asked: string[] = [];

beforeEach(() => {
  asked = [];
  vi.stubGlobal("location", { search: "", pathname: "/" });
  vi.stubGlobal("localStorage", { getItem: () => "token", setItem: () => undefined });
  vi.stubGlobal("fetch", async (address: string) => {
    asked.push(address);
    return Response.json(ANSWERS[address] ?? {});
  });
});
afterEach(() => vi.unstubAllGlobals());

test("a list is there as its table reads it, and who is signed in", async () => {
  const cache = new QueryClient();
  await readFirstView(cache, "/pods", undefined);
  expect(asked.toSorted()).toEqual(["/v2/account/me", "/v2/pods"]);
  const paged = keyOf("listPods", { query: {}, params: undefined, paged: true });
  expect(cache.getQueryData(paged)).toEqual({ pages: [{ pods: [{ id: "p1" }] }], pageParams: [""] });
  expect(cache.getQueryData(keyOf("getMe", {}))).toEqual({ scopes: [] });
});

test("the health that many endpoints have in one answer is there as if each had been asked", async () => {
  const cache = new QueryClient();
  await readFirstView(cache, "/serverless", undefined);
  const health = cache.getQueryData(keyOf("getEndpointHealth", { params: { endpoint_id: "q" } }));
  expect(health).toEqual({ jobs: { inQueue: 3 } });
});

test("what may be a worker's is asked only of an endpoint with a queue", async () => {
  const health = (cache: QueryClient, id: string) =>
    cache.getQueryData(keyOf("getEndpointHealth", { params: { endpoint_id: id } }));
  const queue = new QueryClient();
  await readFirstView(queue, "/serverless/$id", "q");
  expect(health(queue, "q")).toEqual({});
  const balanced = new QueryClient();
  await readFirstView(balanced, "/serverless/$id", "b");
  expect(health(balanced, "b")).toBeUndefined();
  expect(asked).not.toContain("/v2/b/health");
});

test("a view in the address, and nobody signed in, read nothing of the page", async () => {
  vi.stubGlobal("location", { search: "?members=yes", pathname: "/pods" });
  await readFirstView(new QueryClient(), "/pods", undefined);
  expect(asked).toEqual(["/v2/account/me"]);
  vi.stubGlobal("localStorage", { getItem: () => null });
  await readFirstView(new QueryClient(), "/pods", undefined);
  expect(asked).toHaveLength(1);
});
