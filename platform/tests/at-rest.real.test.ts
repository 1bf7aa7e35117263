/** What the data folder gives away: no secret's value in clear, nothing of a deleted account, and keys that can be rotated. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openInstallation } from "../src/main.ts";
import { settingsFrom } from "../src/settings.ts";
import { filesHolding, millrace, ownerKey, startServer, temporaryFolder } from "./process.ts";

const SECRETS = "/v2/account/secrets";
const FIRST = "correct horse battery staple";
const SECOND = "tree moon river candle bridge";

async function reveal(data: string, name: string): Promise<string | undefined> {
  await using installation = await openInstallation(settingsFrom({}, { data }), { thread: false });
  const { account } = await installation.accounts.firstOwner();
  return await installation.secrets.reveal(account, name);
}

test("a secret's value is in no file, no answer and no log: not when set, rotated or deleted", async () => {
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
  // The search itself works: it finds what is not secret.
  expect(await filesHolding(folder.path, "to be found")).not.toEqual([]);
  await expectNowhere();
  await ask("PATCH", `${SECRETS}/${id}`, { value: SECOND });
  await ask("POST", SECRETS, { name: "token", value: FIRST });
  await ask("PATCH", `${SECRETS}/${id}`, { value: SECOND, bogus: FIRST });
  await ask("PATCH", `${SECRETS}/${id}`, `{"value": "${SECOND}" oops`);
  await ask("GET", SECRETS);
  await expectNowhere();
  await ask("DELETE", `${SECRETS}/${id}`);
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

test.each([["while the server runs"], ["while it does not"]])(
  "nothing of an account deleted %s is in any file",
  async (when) => {
    await using folder = await temporaryFolder();
    const server = await startServer(folder.path);
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
