/** A person with many tabs: reads that come too often wait together, and are sent once more. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RatePause } from "./rate-pause.ts";

const SPREAD_MS = 3000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  vi.stubGlobal("localStorage", { getItem: () => null });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const tooMany = (retryAfter?: string) =>
  new Response(null, { status: 429, headers: retryAfter === undefined ? {} : { "Retry-After": retryAfter } });

/** A server that allows so many requests, then refuses until it is told to go on. */
async function limitedServer(allowed: number) {
  const state = { left: allowed, requests: 0 };
  const server = createServer((_, response) => {
    state.requests++;
    const isAllowed = state.left-- > 0;
    response.writeHead(isAllowed ? 200 : 429, { "Content-Type": "application/json", "Retry-After": "20" });
    response.end(isAllowed ? "{}" : JSON.stringify({ title: "Too Many Requests", detail: "rate limit exceeded" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, state, [Symbol.asyncDispose]: async () => void server.close() };
}

/** Loaded anew for each test, since a page has one pause. */
async function loadedClient() {
  vi.resetModules();
  return (await import("./client.ts")).send;
}

test("a read that is refused waits as long as the server says, and is sent once more", async () => {
  await using server = await limitedServer(0);
  const send = await loadedClient();
  const read = send(server.url, { method: "GET" });
  await vi.waitUntil(() => vi.getTimerCount() > 0);
  await vi.advanceTimersByTimeAsync(19_900);
  expect(server.state.requests).toBe(1);
  server.state.left = 1;
  await vi.advanceTimersByTimeAsync(100 + SPREAD_MS);
  expect((await read).status).toBe(200);
  expect(server.state.requests).toBe(2);
});

test("other reads of the page wait with it and ask nothing, and a second refusal is shown", async () => {
  await using server = await limitedServer(0);
  const send = await loadedClient();
  const reads = [send(server.url, { method: "GET" })];
  await vi.waitUntil(() => vi.getTimerCount() > 0);
  for (let i = 0; i < 9; i++) reads.push(send(server.url, { method: "GET" }));
  expect(server.state.requests).toBe(1);
  server.state.left = 9;
  const settled = Promise.allSettled(reads);
  await vi.advanceTimersByTimeAsync(20_000 + SPREAD_MS);
  await vi.waitUntil(() => server.state.requests >= 10);
  await vi.advanceTimersByTimeAsync(60_000);
  const ends = await settled;
  expect(ends.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(9);
  expect(server.state.requests).toBeLessThanOrEqual(12);
});

test("a write is not held back and not sent twice", async () => {
  await using server = await limitedServer(0);
  const send = await loadedClient();
  await expect(send(server.url, { method: "POST", body: {} })).rejects.toMatchObject({ status: 429 });
  expect(server.state.requests).toBe(1);
});

test("all tabs wait when one of them was refused, and go on at different moments", async () => {
  const channels: { onmessage: ((event: MessageEvent) => unknown) | null }[] = [];
  const open = () => {
    const own = {
      onmessage: null as ((event: MessageEvent) => unknown) | null,
      postMessage: (data: number) => {
        for (const other of channels) if (other !== own) other.onmessage?.({ data } as MessageEvent);
      },
    };
    channels.push(own);
    return new RatePause(own);
  };
  const tabs = Array.from({ length: 20 }, open);
  expect(tabs[0]!.begin(tooMany("10"))).toBe(true);
  const wentOnAt: number[] = [];
  const began = Date.now();
  for (const tab of tabs) void tab.over().then(() => wentOnAt.push(Date.now() - began));
  await vi.advanceTimersByTimeAsync(9999);
  expect(wentOnAt).toEqual([]);
  await vi.advanceTimersByTimeAsync(1 + SPREAD_MS);
  expect(wentOnAt).toHaveLength(20);
  expect(new Set(wentOnAt).size).toBeGreaterThan(10);
});

test.each([[undefined], ["3600"], ["-1"], ["soon"]])("Retry-After %s begins no pause", async (retryAfter) => {
  const pause = new RatePause(undefined);
  expect(pause.begin(tooMany(retryAfter))).toBe(false);
  await pause.over();
});

test("a reader that leaves does not wait", async () => {
  const pause = new RatePause(undefined);
  pause.begin(tooMany("60"));
  const gone = new AbortController();
  const over = pause.over(gone.signal);
  gone.abort();
  await over;
  expect(vi.getTimerCount()).toBe(0);
});
