/** `millrace prices` next to a running server, which is killed: each price is billed for exactly its time, to the last digit. */
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { nano } from "./billing-world.ts";
import { millrace, ownerKey, startServer, temporaryFolder } from "./process.ts";

const LOOK_MS = 100;
const BUSY = { name: "busy", image: "host:/usr/share", cmd: ["sleep", "1000"], cpu: { id: "cpu3c", vcpuCount: 2 } };
const env = { MILLRACE_COMPUTE: "host" };

test("a price that is set holds from the moment that was said, for what runs, through kill -9", async () => {
  await using folder = await temporaryFolder();
  const first = await startServer(folder.path, { env });
  const key = await ownerKey(folder.path);
  const { json: pod } = await first.call("POST", "/v2/pods", { key, body: BUSY });
  const read = async (server: typeof first) => (await server.call("GET", `/v2/pods/${pod.id}`, { key })).json;
  while ((await read(first)).status !== "RUNNING") await stay(LOOK_MS);
  const { from } = await millrace(folder.path, "prices", "set", "cpu3c", "pod=360");
  await first.end("SIGKILL");
  await using server = await startServer(folder.path, { env });
  const price = async () => (await server.call("GET", "/v2/catalog/cpus/cpu3c", { key })).json.price.securePerVcpu;
  while ((await price()) !== 360) await stay(LOOK_MS);
  const { startedAt, cost } = await read(server);
  expect(cost).toBe(720);
  expect((await server.call("DELETE", `/v2/pods/${pod.id}`, { key })).status).toBe(204);
  const bill = async () => (await server.call("GET", `/v2/billing/pods?podId=${pod.id}&bucketSize=hour`, { key })).json;
  // Billing is complete when two reads agree: the program may take a moment to end.
  let [told, before] = [await bill(), undefined as unknown];
  while (JSON.stringify(told) !== JSON.stringify(before)) {
    await stay(LOOK_MS);
    [before, told] = [told, await bill()];
  }
  const cpu = nano(told.metadata.totals.cpuAmount);
  // 0.03 USD per hour for each of two vCPUs until the change, and 0.2 USD per second from then on.
  const old = (BigInt(Date.parse(from) - Date.parse(startedAt)) * 60_000_000n + 1_800_000n) / 3_600_000n;
  expect((cpu - old) % 200_000n).toBe(0n);
  expect(cpu - old).toBeGreaterThan(0n);
  expect(told.metadata).toMatchObject({ uniquePodCount: 1 });
  const { cpus } = await millrace(folder.path, "prices", "list");
  expect(cpus).toContainEqual({ id: "cpu3c", pod: 360, serverless: 0.03 });
});
