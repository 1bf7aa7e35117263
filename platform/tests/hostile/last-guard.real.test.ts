/** The last guard of a real server: it survives errors that nobody handles, and shuts down in order when its writer dies. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { stay } from "../../src/kernel/clock.ts";
import { ownerKey, type Server, startServer, temporaryFolder } from "../process.ts";

const MISCHIEF = fileURLToPath(new URL("./mischief.mjs", import.meta.url));

async function logged(server: Server, text: string): Promise<void> {
  while (!server.log().includes(text)) await stay(20);
}

test("failures that reach nobody are logged and survived; without its writer the server ends with the reason", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await using server = await startServer(data, { env: { NODE_OPTIONS: `--import=${MISCHIEF}` } });
  const key = await ownerKey(data);
  server.process.kill("SIGUSR2");
  for (const what of ["mischief: a promise", "mischief: a timer"]) await logged(server, what);
  expect((await server.call("POST", "/v2/account/secrets", { key, body: { name: "a", value: "b" } })).status).toBe(201);
  expect(server.log()).toContain("a failure that reached nobody; the server continues");
  expect(await server.end("SIGHUP")).toBe(1);
  expect(server.log()).toContain("the server cannot continue, and ends");
  expect(server.log()).toContain("the thread that writes to the disk ended");
});
