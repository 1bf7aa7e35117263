/** The data folder contains no secret's value in clear and nothing of a deleted account, and its keys can be rotated. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { openInstallation } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { filesHolding, millrace, ownerKey, startServer, temporaryFolder } from "./process.ts";

const SECRETS = "/v2/account/secrets";
const REGISTRIES = "/v2/registries";
const FIRST = "correct horse battery staple";
const SECOND = "tree moon river candle bridge";

async function reveal(data: string, name: string): Promise<string | undefined> {
  await using installation = await openInstallation(settingsFrom({}, { data }), { thread: false });
  const { account } = await installation.accounts.firstOwner();
  return await installation.secrets.reveal(account, name);
}

test("a secret's value and a registry's password are in no file, no answer and no log: not when set, rotated or deleted", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  const answers: string[] = [];
  const ask = async (method: string, path: string, body?: unknown) => {
    const answer = await server.call(method, path, { key, body });
    answers.push(JSON.stringify([...answer.headers]), answer.text);
    return answer.json;
  };
  const expectNowhere = async () => {
    for (const text of [FIRST, SECOND]) {
      expect(await filesHolding(folder.path, text)).toEqual([]);
      expect(answers.join("\n")).not.toContain(text);
      expect(server.log() + server.lines.join("\n")).not.toContain(text);
    }
  };

  const { id } = await ask("POST", SECRETS, { name: "token", value: FIRST, description: "to be found" });
  // This shows that the search works: it finds a text that is not secret.
  expect(await filesHolding(folder.path, "to be found")).not.toEqual([]);
  await expectNowhere();
  const registry = await ask("POST", REGISTRIES, { name: "hub", username: FIRST, password: SECOND });
  await ask("POST", REGISTRIES, { name: "hub", username: FIRST, password: SECOND, bogus: SECOND });
  await ask("GET", REGISTRIES);
  await ask("PATCH", `${SECRETS}/${id}`, { value: SECOND });
  await ask("POST", SECRETS, { name: "token", value: FIRST });
  await ask("PATCH", `${SECRETS}/${id}`, { value: SECOND, bogus: FIRST });
  await ask("PATCH", `${SECRETS}/${id}`, `{"value": "${SECOND}" oops`);
  await ask("GET", SECRETS);
  await expectNowhere();
  await ask("DELETE", `${SECRETS}/${id}`);
  await ask("DELETE", `${REGISTRIES}/${registry.id}`);
  await expectNowhere();
  expect(await server.end("SIGTERM")).toBe(0);
  await expectNowhere();
});

test("an API key is in no file but the one made for it", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const { key } = await millrace(folder.path, "keys", "create", "--scopes", "all");
  expect((await server.call("GET", SECRETS, { key })).status).toBe(200);
  expect(await filesHolding(folder.path, key)).toEqual([]);
  expect(await filesHolding(folder.path, await ownerKey(folder.path))).toEqual([join(folder.path, "api-key")]);
});

test("nothing of a deleted endpoint's configuration is in any file, earlier versions and releases included", async () => {
  await using folder = await temporaryFolder();
  const server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  const words = ["barnacle", "chandelier", "dandelion", "escalator"];
  const [name, first, second, third] = words as [string, string, string, string];
  const env = (word: string) => ({ TOKEN: `${word} ${"and more ".repeat(500)}` });
  const body = { name, image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }], env: env(first) };
  const { id } = (await server.call("POST", "/v2/serverless", { key, body })).json;
  for (const word of [second, third])
    expect((await server.call("PATCH", `/v2/serverless/${id}`, { key, body: { env: env(word) } })).status).toBe(200);
  for (const word of words) expect([word, await filesHolding(folder.path, word)]).not.toEqual([word, []]);
  expect((await server.call("DELETE", `/v2/serverless/${id}`, { key })).status).toBe(204);
  for (const word of words) expect([word, await filesHolding(folder.path, word)]).toEqual([word, []]);
  expect(await server.end("SIGKILL")).toBe("SIGKILL");
  for (const word of words) expect([word, await filesHolding(folder.path, word)]).toEqual([word, []]);
});

test("a secret's description and a key's name leave the files soon after they were deleted or replaced", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  const ask = (method: string, path: string, body?: unknown) => server.call(method, path, { key, body });
  const secret = (await ask("POST", SECRETS, { name: "token", value: FIRST, description: "gooseberry" })).json;
  await ask("PATCH", `${SECRETS}/${secret.id}`, { description: "hyacinth" });
  const made = (await ask("POST", "/v2/account/api-keys", { name: "juniper", scopes: ["all"] })).json;
  await ask("DELETE", `${SECRETS}/${secret.id}`);
  expect((await ask("DELETE", `/v2/account/api-keys/${made.id}`)).status).toBe(204);
  for (const word of ["gooseberry", "hyacinth", "juniper"])
    while ((await filesHolding(folder.path, word)).length > 0) await stay(100);
});

test.each([["while the server runs"], ["while it does not"]])(
  "nothing of an account deleted %s is in any file",
  async (when) => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const team = await millrace(folder.path, "accounts", "create", "Marmalade", "--email", "paddington@example.org");
    for (let i = 0; i < 50; i++) {
      const body = { name: `wardrobe_${i}`, value: FIRST, description: `umbrella ${i} ${"and more ".repeat(300)}` };
      expect((await server.call("POST", SECRETS, { key: team.key, body })).status).toBe(201);
    }
    await server.call("PUT", "/v2/account/ssh-keys", { key: team.key, body: { keys: ["ssh-ed25519 AAAA suitcase"] } });
    const texts = ["Marmalade", "marmalade", "paddington", "wardrobe_", "umbrella", "suitcase"];
    for (const text of texts) expect([text, await filesHolding(folder.path, text)]).not.toEqual([text, []]);
    if (when === "while it does not") await server.end("SIGTERM");
    await millrace(folder.path, "accounts", "delete", "marmalade", "--yes");
    for (const text of texts) expect([text, await filesHolding(folder.path, text)]).toEqual([text, []]);
    await server.end("SIGTERM");
    for (const text of texts) expect([text, await filesHolding(folder.path, text)]).toEqual([text, []]);
  },
);

test("rotating the master key keeps secrets readable, and the old key opens nothing any more", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "master-key");
  const before = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  for (const name of ["one", "two"]) {
    await before.call("POST", SECRETS, { key, body: { name, value: `${FIRST} ${name}` } });
  }
  await before.end("SIGTERM");
  const old = (await readFile(file, "utf8")).trim();

  expect(await millrace(folder.path, "master-key", "rotate")).toEqual({ rewrapped: 2 });
  const fresh = (await readFile(file, "utf8")).trim();
  expect(fresh).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(fresh).not.toBe(old);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await filesHolding(folder.path, old)).toEqual([]);
  expect(await reveal(folder.path, "one")).toBe(`${FIRST} one`);

  const after = await startServer(folder.path);
  const [two] = (await after.call("GET", `${SECRETS}?name=two`, { key })).json.secrets;
  expect((await after.call("PATCH", `${SECRETS}/${two.id}`, { key, body: { value: SECOND } })).status).toBe(200);
  await after.end("SIGTERM");
  expect([await reveal(folder.path, "one"), await reveal(folder.path, "two")]).toEqual([`${FIRST} one`, SECOND]);
  const settings = settingsFrom({ MILLRACE_MASTER_KEY: old }, { data: folder.path });
  await using withOldKey = await openInstallation(settings, { thread: false });
  const { account } = await withOldKey.accounts.firstOwner();
  await expect(withOldKey.secrets.reveal(account, "one")).rejects.toThrow("is not known here");
});
