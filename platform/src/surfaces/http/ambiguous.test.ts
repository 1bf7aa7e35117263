/** Requests that two programs could understand differently are refused, whatever surface they are for. */
import { expect, test } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";

test.each([
  ["two Host headers", "1.1", ["Host: a", "Host: b"], "more than one Host"],
  ["the same Host twice", "1.1", ["Host: a", "host: a"], "more than one Host"],
  ["another transfer encoding", "1.1", ["Host: a", "Transfer-Encoding: gzip, chunked"], "no other transfer encoding"],
  [
    "chunks before there were any",
    "1.0",
    ["Connection: keep-alive", "Transfer-Encoding: chunked"],
    "with HTTP/1.1 only",
  ],
])("%s: 400 that blames nobody else, and no worker hears of it", async (_what, version, headers, words) => {
  await using world = await setupBalanced();
  let asked = 0;
  world.worker("w1", (_request, response) => {
    asked++;
    response.end();
  });
  const upgrade = ["Upgrade: websocket", "Connection: Upgrade"];
  for (const path of [`/v2/${world.endpoint}/x`, "/v2/serverless", "/nothing"])
    for (const more of [[], upgrade]) {
      const lines = [`GET ${path} HTTP/${version}`, ...headers, `Authorization: Bearer ${world.key}`, ...more];
      const answer = await world.raw(`${lines.join("\r\n")}\r\n\r\n0\r\n\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain(words);
    }
  expect(asked).toBe(0);
});
