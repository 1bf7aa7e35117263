/** A worker may answer before it has the whole request, such as with a refusal. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { setupBalanced } from "../../../tests/balanced-world.ts";
import { idle } from "../../../tests/idle.ts";
import { MIB } from "../../kernel/operation.ts";

test("it reaches a client that is still sending", async () => {
  await using world = await setupBalanced();
  world.worker("w1", (_request, response) => void response.writeHead(401).end("no"));
  const { status, text } = await world.ask("POST", "/x", { body: Buffer.alloc(5 * MIB) });
  expect([status, text]).toEqual([401, "no"]);
});

test("it leaves no connection on which another request would be taken for the rest of the body", async () => {
  await using world = await setupBalanced();
  const { open } = world.worker("w1", (request, response) => void response.end(request.url));
  const sending = world.begin("POST", "/x", ["Content-Length: 1000"]);
  sending.write("GET /half HTTP/1.1");
  await once(sending, "data");
  await idle();
  const kept = open.size;
  sending.destroy();
  expect(kept).toBe(0);
  expect((await world.ask("GET", "/y")).text).toBe("/y");
});
