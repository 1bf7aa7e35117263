/** Millrace as npm users get it: packed, installed apart from the repository, and run from there. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { pack } from "../../scripts/pack.ts";
import { ownerKey, run, startServer, temporaryFolder } from "./process.ts";

/** npm has just installed the same packages here, so most of them come from its cache. */
async function installed(folder: string): Promise<string> {
  const args = ["install", "--global", "--prefix", folder, "--prefer-offline", "--no-audit", "--no-fund"];
  const { code, stderr } = await run("npm", [...args, await pack(folder)], { env: { HOME: process.env.HOME ?? "/" } });
  expect([code, stderr]).toEqual([0, expect.anything()]);
  return join(folder, "bin/millrace");
}

/** Kubernetes' library and its packages would be 69 MB more. The few parts of it that are used are in the built code, with their licence. */
async function expectSmall(folder: string): Promise<void> {
  expect(await readdir(join(folder, "node_modules"))).not.toContain("@kubernetes");
  const licences = await readFile(join(folder, "built/LICENSES.txt"), "utf8");
  for (const name of ["@kubernetes/client-node", "pg", "ws"])
    expect(licences).toMatch(new RegExp(`^${name} [0-9.]+: `, "m"));
}

test("the installed package serves the console and runs a job of an official template, without the repository", async () => {
  await using folder = await temporaryFolder();
  await using data = await temporaryFolder();
  const env = { HOME: folder.path, MILLRACE_COMPUTE: "host", MILLRACE_SANDBOX: "optional" };
  const command = await installed(folder.path);
  await expectSmall(join(folder.path, "lib/node_modules/millrace"));
  await using server = await startServer(data.path, { command, env });
  const key = await ownerKey(data.path);
  const page = await fetch(server.url, { headers: { accept: "text/html" } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
  const body = { name: "echo", templateId: "millrace-echo", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json;
  expect(endpoint.cmd).toEqual(["node", "worker.js"]);
  const done = await server.call("POST", `/v2/${endpoint.id}/runsync`, { key, body: { input: { n: 1 } } });
  expect(done.json).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
  await server.call("DELETE", `/v2/serverless/${endpoint.id}`, { key });
  expect(await server.end("SIGTERM")).toBe(0);
  // It installs some hundred packages, which a busy machine takes minutes for.
}, 600_000);
