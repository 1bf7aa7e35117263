/** The memory for parsing large bodies is released once they are parsed, and a job whose body is lost says so. */
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { realClock, sleep } from "../src/kernel/clock.ts";
import { ownerKey, startServer, temporaryFolder } from "./process.ts";
import { isOver, place, submit } from "./worker-place.ts";

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

test("a job whose input is lost with its file fails at the first take, with the reason, and the next one runs", async () => {
  await using at = await place();
  const endpoint = await at.endpoint({ workers: { min: 0, max: 0 } });
  const lost = await submit(at, endpoint, { text: "x".repeat(MIB) });
  const next = await submit(at, endpoint);
  const payloads = join(at.data, "payloads");
  for (const name of await readdir(payloads)) await unlink(join(payloads, name));
  await at.call("PATCH", `/v2/serverless/${endpoint}`, { workers: { max: 1 } });
  expect(await at.until(endpoint, lost, isOver)).toMatchObject({ status: "FAILED", errorCode: "input-lost" });
  expect(await at.until(endpoint, next, isOver)).toMatchObject({ status: "COMPLETED" });
});
