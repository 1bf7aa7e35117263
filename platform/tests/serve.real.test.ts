/** The server as a process: its start, its keys, the command line next to it, and its end. */
import { readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { launcher, millrace, ownerKey, run, startServer, temporaryFolder } from "./process.ts";

const SSH_KEYS = "/v2/account/ssh-keys";
const mode = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

describe("start", () => {
  test("prints the new owner key, a link to sign in, and one line that says where it listens", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(server.lines).toEqual([
      `your API key, shown this once and kept in ${join(folder.path, "api-key")}: ${await ownerKey(folder.path)}`,
      expect.stringMatching(/^sign in within 10 minutes, once, at http:\/\/127\.0\.0\.1:\d+\/sign-in#[\w-]{43}$/),
      `listening on ${server.url}`,
    ]);
    expect((await server.call("GET", "/v2/openapi.json")).status).toBe(200);
    expect((await server.call("GET", SSH_KEYS, { key: await ownerKey(folder.path) })).status).toBe(200);
  });

  test("prints no key into the journal of a machine, only where it is", async () => {
    await using folder = await temporaryFolder();
    const command = join(folder.path, "service");
    const named = `exec 9>&1; export JOURNAL_STREAM="$(stat -L -c %d:%i /dev/fd/9)"`;
    await writeFile(command, `#!/bin/sh\n${named}; exec '${launcher}' "$@"\n`, { mode: 0o755 });
    const data = join(folder.path, "data");
    await using server = await startServer(data, { command });
    expect(server.lines).toEqual([
      `your API key is in ${join(data, "api-key")}; 'millrace open --data ${data}' makes a link to the console`,
      `listening on ${server.url}`,
    ]);
    expect(server.log()).not.toContain(await ownerKey(data));
  });

  test("makes the owner's key once, in files that only their owner can read", async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, "deep", "data");
    const first = await startServer(data);
    const key = await ownerKey(data);
    expect(await first.end("SIGTERM")).toBe(0);
    for (const file of ["api-key", "master-key", "store.db"])
      expect([file, await mode(join(data, file))]).toEqual([file, "600"]);
    expect(await mode(data)).toBe("700");
    await using second = await startServer(data);
    expect(second.lines).toEqual([`listening on ${second.url}`]);
    expect(await ownerKey(data)).toBe(key);
    expect((await second.call("GET", SSH_KEYS, { key })).status).toBe(200);
  });

  test("takes MILLRACE_API_KEY for the owner's key; a changed one replaces it", async () => {
    await using folder = await temporaryFolder();
    const use = async (key: string, asked: string) => {
      await using server = await startServer(folder.path, { env: { MILLRACE_API_KEY: key } });
      expect(server.lines).toEqual([`listening on ${server.url}`]);
      return (await server.call("GET", SSH_KEYS, { key: asked })).status;
    };
    expect(await use("the-first-owner-key", "the-first-owner-key")).toBe(200);
    expect(await use("the-second-owner-key", "the-second-owner-key")).toBe(200);
    expect(await use("the-second-owner-key", "the-first-owner-key")).toBe(401);
  });

  test("refuses a MILLRACE_API_KEY that is too short, and a taken port, with the reason", async () => {
    await using folder = await temporaryFolder();
    const short = await run(launcher, ["serve", "--data", folder.path, "--port", "0"], {
      env: { MILLRACE_API_KEY: "short" },
    });
    expect([short.code, short.stderr]).toEqual([1, expect.stringContaining("16 or more visible ASCII characters")]);
    await using server = await startServer(folder.path);
    await using other = await temporaryFolder();
    const taken = await run(launcher, ["serve", "--data", other.path, "--port", new URL(server.url).port]);
    const { port } = new URL(server.url);
    // Without root, warnings about what is missing come first.
    expect([taken.code, taken.stderr.split("\n").at(-2)]).toEqual([
      1,
      `millrace: port ${port} of 127.0.0.1 is taken by process ${server.process.pid} (node). ` +
        "Stop that, or choose another port with --port.",
    ]);
    // The failed start made a key that no one saw, so the next start shows it.
    await using next = await startServer(other.path);
    expect(next.lines[0]).toContain(`: ${await ownerKey(other.path)}`);
  });

  test("names the flag that is wrong", async () => {
    const { code, stderr } = await run(launcher, ["serve", "--port", "many"]);
    expect([code, stderr]).toEqual([1, "millrace: --port must be a whole number from 0 to 65535, not 'many'\n"]);
  });

  test("on every address it says where other machines reach it, and that this is plain HTTP", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path, { args: ["--host", "0.0.0.0"] });
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const said = /^other machines reach it at (\S+), by plain HTTP/.exec(server.lines.at(-2)!)![1]!;
    expect((await fetch(`${said}/v2/openapi.json`)).status).toBe(200);
  });

  test("works from another folder, through a symlink, and with a relative data folder", async () => {
    await using folder = await temporaryFolder();
    const command = join(folder.path, "millrace");
    await symlink(launcher, command);
    await using server = await startServer("data", { command, cwd: folder.path });
    const key = await ownerKey(join(folder.path, "data"));
    expect((await server.call("GET", SSH_KEYS, { key })).status).toBe(200);
  });
});

describe("the command line beside a running server", () => {
  test("makes a key that works at once, and one that it revokes works no more soon after", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const made = await millrace(folder.path, "keys", "create", "--scopes", "read-only", "--expires", "30d");
    expect(Object.keys(made)).toEqual(["id", "key"]);
    const use = async (method: string) => (await server.call(method, SSH_KEYS, { key: made.key })).status;
    expect([await use("GET"), await use("PUT")]).toEqual([200, 403]);
    await millrace(folder.path, "keys", "revoke", made.id);
    let status = 200;
    // Not faster than the rate limit of the key.
    for (; status === 200; await stay(50)) status = await use("GET");
    expect(status).toBe(401);
  });

  test("lists keys, and makes exempt ones that carry no rate-limit headers", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const { id, key } = await millrace(folder.path, "keys", "create", "--scopes", "secrets:read", "--exempt");
    const { headers } = await server.call("GET", "/v2/account/secrets", { key });
    expect(headers.has("ratelimit")).toBe(false);
    const { apiKeys } = await millrace(folder.path, "keys", "list");
    expect(apiKeys).toContainEqual(expect.objectContaining({ id, scopes: ["secrets:read"], exempt: true }));
    expect(JSON.stringify(apiKeys)).not.toContain(key);
  });

  test("makes accounts that cannot see each other", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const team = await millrace(folder.path, "accounts", "create", "team");
    const body = { name: "token", value: "v" };
    const created = await server.call("POST", "/v2/account/secrets", { key: team.key, body });
    expect(created.status).toBe(201);
    const path = `/v2/account/secrets/${created.json.id}`;
    expect((await server.call("GET", path, { key: await ownerKey(folder.path) })).status).toBe(404);
    const { accounts } = await millrace(folder.path, "accounts", "list");
    expect(accounts.map(({ name }: { name: string }) => name).toSorted()).toEqual(["default", "team"]);
  });

  test("says what is wrong and ends with 1, or with 2 if it was used wrongly", async () => {
    await using folder = await temporaryFolder();
    await millrace(folder.path, "keys", "create", "--scopes", "all");
    const revoke = await run(launcher, ["keys", "revoke", "nothing", "--data", folder.path]);
    expect([revoke.code, revoke.stderr]).toEqual([1, "millrace: API key not found\n"]);
    const scopes = await run(launcher, ["keys", "create", "--scopes", "everything", "--data", folder.path]);
    expect([scopes.code, scopes.stderr]).toEqual([
      2,
      expect.stringContaining("'everything' is none of: all, read-only"),
    ]);
  });
});

describe("end", () => {
  test("Ctrl-C says what is waited for", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    expect(await server.end("SIGINT")).toBe(0);
    expect(server.log()).toContain("millrace: ending; no job is in progress and no worker runs. Ctrl-C again");
  });

  test.each([["SIGTERM"], ["SIGINT"]] as const)("%s ends it with 0, its log folded into its file", async (signal) => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const key = await ownerKey(folder.path);
    await server.call("PUT", SSH_KEYS, { key, body: { keys: ["ssh-ed25519 AAAA me"] } });
    expect(await server.end(signal)).toBe(0);
    await expect(readFile(join(folder.path, "store.db-wal"))).rejects.toThrow("ENOENT");
    await using again = await startServer(folder.path);
    expect((await again.call("GET", SSH_KEYS, { key })).json).toEqual({ keys: ["ssh-ed25519 AAAA me"] });
  });
});

test("the log is JSON, a line per request, without the key", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  await server.call("GET", `${SSH_KEYS}?api_key=${key}`, { key });
  await server.end("SIGTERM");
  const lines = server
    .log()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toContainEqual(expect.objectContaining({ msg: "request", path: SSH_KEYS, status: 200 }));
  expect(server.log()).not.toContain(key);
});
