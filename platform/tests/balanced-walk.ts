/** Load balancing on a real server: from zero workers to an answer, large bodies, a WebSocket, and a worker that dies. */
import { once } from "node:events";
import { expect } from "vitest";
import { WebSocket } from "ws";
import type { ServerPlace } from "./worker-place.ts";

export async function walkBalanced(at: ServerPlace): Promise<string> {
  const endpoint = await at.endpoint({ type: "LOAD_BALANCER", env: { PORT: "8437" }, workers: { max: 1 } });
  const ask = (path: string) => at.call("GET", `/v2/${endpoint}${path}`);
  const first = await ask("/hello?x=1");
  expect([first.status, first.json.url, first.json.port]).toEqual([200, "/hello?x=1", "8437"]);
  const body = "x".repeat(5_000_000);
  expect((await at.server.call("POST", `/v2/${endpoint}/echo`, { key: at.key, body: Buffer.from(body) })).text).toBe(
    body,
  );
  const url = `${at.server.url.replace("http", "ws")}/v2/${endpoint}/socket`;
  const client = new WebSocket(url, { headers: { authorization: `Bearer ${at.key}` } });
  await once(client, "open");
  client.send("hello");
  expect(String((await once(client, "message"))[0])).toBe("hello");
  client.terminate();
  await expect(ask("/die")).rejects.toThrow();
  let next = await ask("/");
  // A request that arrives before the worker's end is noticed fails with 502. It is not sent a second time.
  while (next.status === 502) next = await ask("/");
  expect([next.status, next.json.worker === first.json.worker]).toEqual([200, false]);
  return endpoint;
}
