/** Programs from the machine's own files, as a server runs them: only for its owner, and only from folders that others cannot change. */
import { chmod, cp, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { missingForTests } from "../src/adapters/host/machine.ts";
import { stay } from "../src/kernel/clock.ts";
import {
  type Folder,
  launcher,
  millrace,
  ownerKey,
  root,
  run,
  type Server,
  startServer,
  temporaryFolder,
} from "./process.ts";

const CPU = { cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
const PASSWORD = "hunter2hunter2";
const missing = await missingForTests();

let folder: Folder;
let server: Server;
let owner: string;
let home: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  // Like a checkout in a home folder that is closed to others.
  home = join(folder.path, "home");
  await mkdir(home, { mode: 0o700 });
  await cp(join(root, "examples", "echo"), join(home, "echo"), { recursive: true });
  await chmod(join(home, "echo"), 0o755);
  server = await startServer(join(folder.path, "data"), { env: { MILLRACE_COMPUTE: "host" } });
  owner = await ownerKey(join(folder.path, "data"));
});

afterAll(async () => {
  await server?.end("SIGTERM");
  await folder?.[Symbol.asyncDispose]();
});

const create = (key: string, image: string, more: object = {}) =>
  server.call("POST", "/v2/serverless", {
    key,
    body: { name: "program", image, ...CPU, args: "node worker.ts", ...more },
  });

test("the README's first job runs from a checkout below a home that is closed to others", async ({ skip }) => {
  skip(missing !== undefined, missing);
  const { json, status, text } = await create(owner, `host:${home}/echo`);
  expect([status, text]).toEqual([201, text]);
  const done = await server.call("POST", `/v2/${json.id}/runsync`, {
    key: owner,
    body: { input: { prompt: "hello" } },
  });
  expect(done.json).toMatchObject({ status: "COMPLETED", output: { prompt: "hello" } });
  await server.call("DELETE", `/v2/serverless/${json.id}`, { key: owner });
});

test("another account runs none, and the machine's own folders are nobody's", async () => {
  const { key } = await millrace(join(folder.path, "data"), "accounts", "create", "second");
  expect((await create(key, `host:${home}/echo`)).json.detail).toMatch("only the installation's owner may run");
  const refused = ["/proc", "/run", "/", join(folder.path, "data"), folder.path].map(async (path) => {
    const { status, json } = await create(owner, `host:${path}`);
    return [status, json.errors?.length];
  });
  expect(await Promise.all(refused)).toEqual(refused.map(() => [422, 1]));
});

test("a folder that is not there, or a file, is refused where it is named, with what to do", async () => {
  const file = join(folder.path, "file");
  await writeFile(file, "");
  const kept = (await create(owner, `host:${home}/echo`)).json.id;
  const path = `/v2/serverless/${kept}`;
  const body = (image: string) => ({ name: "program", image, ...CPU });
  for (const [missing, reason] of [
    [
      `${folder.path}/nope`,
      `there is no folder ${folder.path}/nope on this machine: make it, or name one that is there`,
    ],
    [file, `${file} is no folder: name the folder that it is in`],
  ]) {
    const image = `host:${missing}`;
    const answers = await Promise.all([
      server.call("POST", "/v2/serverless", { key: owner, body: body(image) }),
      server.call("POST", "/v2/pods", { key: owner, body: { ...body(image), cpu: CPU.cpu[0] } }),
      server.call("POST", "/v2/templates", { key: owner, body: { name: "one", image } }),
      server.call("POST", "/v2/clusters", {
        key: owner,
        body: {
          name: "one",
          type: "TRAINING",
          image,
          compute: { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 2 },
        },
      }),
      server.call("PATCH", path, { key: owner, body: { image } }),
    ]);
    for (const { status, json } of answers) expect([status, json.errors]).toEqual([422, [`$.image: ${reason}`]]);
  }
  await server.call("DELETE", path, { key: owner });
});

test("a folder that became a link to another one is refused at the start, with the reason", async ({ skip }) => {
  skip(missing !== undefined, missing);
  const path = join(folder.path, "swapped");
  await cp(join(home, "echo"), path, { recursive: true });
  await chmod(path, 0o755);
  const { json } = await create(owner, `host:${path}`, { workers: { min: 0, max: 1 } });
  await rename(path, `${path}.old`);
  await symlink("/etc", path);
  const { id } = (await server.call("POST", `/v2/${json.id}/run`, { key: owner, body: { input: {} } })).json;
  const why = async () => (await server.call("GET", `/v2/${json.id}/status/${id}`, { key: owner })).json.waitReason;
  while (!(await why())?.startsWith("boot failed")) await stay(50);
  expect(await why()).toBe(`boot failed: ${path} is the machine's own folder /etc: name a folder of a project`);
  await server.call("DELETE", `/v2/serverless/${json.id}`, { key: owner });
  await rm(path);
});

test("the URL of a database is taken from a file, and not from the command line", async () => {
  const file = join(folder.path, "database-url");
  const nowhere = `postgres://millrace:${PASSWORD}@127.0.0.1:1/none`;
  await writeFile(file, `${nowhere}\n`, { mode: 0o600 });
  const place = ["accounts", "list", "--data", join(folder.path, "none")];
  const byFile = await run(launcher, [...place, "--database-url-file", file]);
  expect([byFile.code, byFile.stderr]).toEqual([
    1,
    expect.stringMatching(/PostgreSQL at .*127\.0\.0\.1:1.* cannot be used: nothing listens there/),
  ]);
  const byFlag = await run(launcher, [...place, "--database-url", nowhere]);
  expect([byFlag.code, byFlag.stderr]).toEqual([1, expect.stringMatching(/set MILLRACE_DATABASE_URL, or write/)]);
  for (const { stderr } of [byFile, byFlag]) expect(stderr).not.toContain(PASSWORD);
});

test("a command for the master key finds none of the server's secrets, nor stands on a command line", async () => {
  const seen = join(folder.path, "seen");
  const command = `env >${seen}; tr '\\0' ' ' </proc/$$/cmdline >>${seen}; openssl rand -base64 32`;
  const env = { MILLRACE_MASTER_KEY_COMMAND: command, MILLRACE_WEBHOOK_SECRET: PASSWORD, VAULT_TOKEN: "kept" };
  await using _ = await startServer(join(folder.path, "other"), { env });
  const text = await readFile(seen, "utf8");
  expect(text).toContain("VAULT_TOKEN=kept");
  expect(text).not.toContain(PASSWORD);
  expect(text).not.toContain("openssl");
});
