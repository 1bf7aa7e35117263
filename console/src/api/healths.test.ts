/** The health of an endpoint in a list. */
import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readFirstView } from "./first-view.ts";
import { readHealth } from "./healths.ts";

const TOGETHER = "/v2/account/serverless/health?limit=25";
let asked: string[] = [];
let together = Promise.withResolvers<Response>();

beforeEach(() => {
  asked = [];
  together = Promise.withResolvers();
  vi.stubGlobal("location", { search: "", pathname: "/serverless" });
  vi.stubGlobal("localStorage", { getItem: () => "token", setItem: () => undefined });
  vi.stubGlobal("fetch", (address: string) => {
    asked.push(address);
    return address === TOGETHER ? together.promise : Promise.resolve(Response.json({ jobs: { inQueue: 1 } }));
  });
});
afterEach(() => vi.unstubAllGlobals());

const read = (client: QueryClient, endpoint: string) =>
  readHealth(endpoint, { client, signal: new AbortController().signal });

test("while the health of many is on its way, that of each is taken from there", async () => {
  const cache = new QueryClient();
  const first = readFirstView(cache, "/serverless", undefined);
  const [known, other] = [read(cache, "one"), read(cache, "two")];
  together.resolve(Response.json({ endpoints: [{ id: "one", jobs: { inQueue: 3 } }] }));
  expect(await known).toEqual({ jobs: { inQueue: 3 } });
  expect(await other).toEqual({ jobs: { inQueue: 1 } });
  await first;
  expect(asked.filter((address) => address.endsWith("/health"))).toEqual(["/v2/two/health"]);
});

test("an endpoint is asked for its own when nothing is on its way, and when the answer for many fails", async () => {
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  expect(await read(cache, "one")).toEqual({ jobs: { inQueue: 1 } });
  const first = readFirstView(cache, "/serverless", undefined);
  const health = read(cache, "one");
  together.resolve(Response.json({ title: "busy", status: 500 }, { status: 500 }));
  expect(await health).toEqual({ jobs: { inQueue: 1 } });
  await first;
});
