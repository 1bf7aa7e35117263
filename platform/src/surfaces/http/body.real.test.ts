/** A refused upload with real clients: each reads the 413 and not a broken connection. */
import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Folder, ownerKey, run, type Server, startServer, temporaryFolder } from "../../../tests/process.ts";

const MB = 1_000_000;
const PATH = "/v2/account/ssh-keys";
const PROBLEM = { title: "Payload Too Large", status: 413, detail: expect.stringContaining("1 MB (1048576 bytes)") };

interface Upload {
  url: string;
  key: string;
  file: string;
}

const fetchScript = `
  const [url, key, file] = process.argv.slice(1);
  const headers = { authorization: "Bearer " + key, "content-type": "application/json" };
  const body = require("node:fs").readFileSync(file);
  const response = await fetch(url, { method: "PUT", headers, body });
  console.log(response.status + " " + (await response.text()));
`;

const pythonScript = `
import http.client, sys, urllib.parse
url, key, file = sys.argv[1:]
parts = urllib.parse.urlsplit(url)
connection = http.client.HTTPConnection(parts.hostname, parts.port)
headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
connection.request("PUT", parts.path, body=open(file, "rb").read(), headers=headers)
response = connection.getresponse()
print(response.status, response.read().decode())
`;

const curl = (...more: string[]) => ({
  command: "curl",
  args: ({ url, key, file }: Upload) => [
    ...["-sS", "-X", "PUT", "-H", `Authorization: Bearer ${key}`, "-H", "Content-Type: application/json"],
    ...["--data-binary", `@${file}`, "-w", "\n%{http_code}", ...more, url],
  ],
});

const clients: Record<string, { command: string; args(upload: Upload): string[] }> = {
  "Node's fetch": {
    command: process.execPath,
    args: ({ url, key, file }) => ["--input-type=commonjs", "-e", `(async () => {${fetchScript}})()`, url, key, file],
  },
  curl: curl(),
  "curl that does not ask first": curl("-H", "Expect:"),
  "curl that does not say how much": curl("-H", "Expect:", "-H", "Transfer-Encoding: chunked"),
  "Python's http.client": {
    command: "python3",
    args: ({ url, key, file }) => ["-c", pythonScript, url, key, file],
  },
};

let folder: Folder;
let server: Server;

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await startServer(join(folder.path, "data"));
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

describe.each(Object.entries(clients))("%s", (_name, { command, args }) => {
  const missing = spawnSync(command, ["--version"]).status !== 0;

  test.skipIf(missing).each([[5], [30]])(
    `reads the 413 to its upload of %i MB${missing ? ` (skipped: ${command} is not installed)` : ""}`,
    async (size) => {
      const key = await ownerKey(join(folder.path, "data"));
      const file = join(folder.path, "upload.json");
      await writeFile(file, `{"keys": ["${"x".repeat(size * MB)}"]}`);
      const { code, stdout, stderr } = await run(command, args({ url: server.url + PATH, key, file }));
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/\b413\b/);
      expect(JSON.parse(/\{.*\}/.exec(stdout)![0])).toEqual(PROBLEM);
    },
  );
});
