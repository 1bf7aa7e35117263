/** The memory for parsing large bodies is released once they are parsed. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock, sleep } from "../src/kernel/clock.ts";
import { ownerKey, startServer, temporaryFolder } from "./process.ts";

const MIB = 1_048_576;
/** As objects, these take a hundred times the memory of their text. */
const BODY = `{"input":{"x":[${"{},".repeat(3 * MIB - 100)}1]}}`;
const BODIES = 3;
const MOST_GROWTH = 400 * MIB;
const LOOK_MS = 500;
const PATIENCE_MS = 60_000;

async function residentBytes(pid: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}

test("the memory of a server is back near its level after 9 MB bodies of many objects", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await using server = await startServer(data);
  const key = await ownerKey(data);
  const endpoint = { name: "e", image: "busybox", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { id } = (await server.call("POST", "/v2/serverless", { key, body: endpoint })).json;
  const before = await residentBytes(server.process.pid!);
  const headers = { authorization: key, "content-type": "application/json" };
  for (let i = 0; i < BODIES; i++)
    expect((await fetch(`${server.url}/v2/${id}/run`, { method: "POST", headers, body: BODY })).status).toBe(200);
  const untilMs = realClock.monotonic() + PATIENCE_MS;
  const growth = async () => (await residentBytes(server.process.pid!)) - before;
  while ((await growth()) > MOST_GROWTH && realClock.monotonic() < untilMs) await sleep(realClock, LOOK_MS);
  expect(await growth()).toBeLessThan(MOST_GROWTH);
});
