/** `millrace import` as a person runs it, from one real server to another: killed in the middle, run again, and once more. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { launcher, ownerKey, run, type Server, startServer, temporaryFolder } from "./process.ts";

const FILES = 30;
const textOf = (n: number) => `${n} `.repeat(20_000);

const place = { env: { MILLRACE_COMPUTE: "host", MILLRACE_SANDBOX: "optional" } };

async function made(server: Server, key: string, path: string, body: object) {
  const { status, json, text } = await server.call("POST", path, { key, body });
  if (status !== 201) throw new Error(text);
  return json;
}

test("an import that is killed while it copies goes on where it was, and the next one has nothing to do, by REST v2 and v1", async () => {
  await using from = await temporaryFolder();
  await using to = await temporaryFolder();
  await using source = await startServer(from.path, place);
  await using target = await startServer(to.path, place);
  const [key, own] = [await ownerKey(from.path), await ownerKey(to.path)];
  const volume = (await made(source, key, "/v2/network-volumes", { name: "data", size: 10, dataCenter: "EU-RO-1" })).id;
  for (let n = 0; n < FILES; n++)
    await source.call("PUT", `/v2/network-volumes/${volume}/files/content?path=in/${n}.txt`, { key, body: textOf(n) });
  const cpu = { id: "cpu3c", vcpuCount: 2 };
  await made(source, key, "/v2/templates", { name: "base", image: "busybox:1", env: { A: "{{ MILLRACE_SECRET_T }}" } });
  await made(source, key, "/v2/serverless", { name: "ep", image: "busybox:1", cpu: [cpu], networkVolumes: [volume] });
  const s3 = await made(source, key, "/v2/account/s3-keys", { name: "move" });
  const values = join(to.path, "values.json");
  await writeFile(values, JSON.stringify({ secrets: { T: "t" } }));
  const env = {
    ...{ MILLRACE_URL: target.url, MILLRACE_API_KEY: own, MILLRACE_IMPORT_KEY: key },
    ...{ AWS_ACCESS_KEY_ID: s3.accessKeyId, AWS_SECRET_ACCESS_KEY: s3.secretAccessKey },
  };
  const words = (url: string) => ["import", url, "--values", values, "--yes"];

  const child = spawn(launcher, words(source.url), {
    env: { PATH: process.env.PATH, HOME: to.path, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const text of child.stdout) {
    said += text;
    if (said.includes("made volumes data")) child.kill("SIGKILL");
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  expect([child.signalCode, said]).toEqual(["SIGKILL", expect.not.stringContaining("made endpoints")]);

  const again = await run(launcher, words(source.url), { env });
  expect([again.code, again.stdout, again.stderr]).toEqual([0, expect.stringContaining("made endpoints ep"), ""]);
  const [there] = (await target.call("GET", "/v2/network-volumes", { key: own })).json.networkVolumes;
  for (const n of [0, FILES - 1]) {
    const path = `/v2/network-volumes/${there.id}/files/content?path=in/${n}.txt`;
    expect((await target.call("GET", path, { key: own })).text).toBe(textOf(n));
  }
  for (const url of [source.url, `${source.url}/v1`]) {
    const last = await run(launcher, words(url), { env });
    expect([last.code, last.stdout]).toEqual([0, expect.stringContaining("nothing to do")]);
  }
});
