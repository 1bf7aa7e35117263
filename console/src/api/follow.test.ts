/** A stream whose connection is dead is given up, said, and opened again. */
import { afterEach, expect, test, vi } from "vitest";
import { follow } from "./follow.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Answers each request with a stream that says one thing, and then nothing. */
function silentServer() {
  const fetch = vi.fn(async () => {
    const body = new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode('id: 7\ndata: {"type":"reset"}\n\n')),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  vi.stubGlobal("fetch", fetch);
  vi.stubGlobal("location", new URL("http://127.0.0.1/"));
  vi.stubGlobal("localStorage", { getItem: () => null });
  return fetch;
}

test("a stream in which nothing comes is lost, and opened again behind its last event", async () => {
  vi.useFakeTimers();
  const fetch = silentServer();
  const stop = new AbortController();
  const seen: boolean[] = [];
  const onConnection = ({ isOpen }: { isOpen: boolean }) => void seen.push(isOpen);
  const following = follow("/v2/account/events", { signal: stop.signal, onEvent: () => undefined, onConnection });
  await vi.advanceTimersByTimeAsync(39_000);
  expect(seen).toEqual([true]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(seen).toContain(false);
  await vi.advanceTimersByTimeAsync(2000);
  expect(seen.at(-1)).toBe(true);
  expect(fetch).toHaveBeenCalledTimes(2);
  const [, again] = fetch.mock.calls[1] as unknown as [string, { headers: Record<string, string> }];
  expect(new Headers(again.headers).get("last-event-id")).toBe("7");
  stop.abort();
  await vi.advanceTimersByTimeAsync(41_000);
  await following;
});
