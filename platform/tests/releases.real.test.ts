/** Upgrades: today's code opens the data folder of every release, and can read everything in it. */
import { readdirSync } from "node:fs";
import { cp, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { openInstallation } from "../src/main.ts";
import { settingsFrom } from "../src/settings/settings.ts";
import { startServer, temporaryFolder } from "./process.ts";

const releases = fileURLToPath(new URL("./fixtures/releases", import.meta.url));

interface Expected {
  ownerKey: string;
  readerKey: string;
  sshKeys: string[];
  secrets: { name: string; value: string; description: string | null }[];
}

test("there is a folder of the first release", () => expect(readdirSync(releases)).toContain("0.1.0"));

describe.each(readdirSync(releases))("the data folder of release %s", (version) => {
  async function copied() {
    const folder = await temporaryFolder();
    await cp(join(releases, version), folder.path, { recursive: true });
    const expected: Expected = JSON.parse(await readFile(join(folder.path, "expected.json"), "utf8"));
    return { data: folder.path, expected, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  }

  test("is served: secrets, SSH keys and API keys are as they were", async () => {
    await using folder = await copied();
    const { ownerKey, readerKey, sshKeys, secrets } = folder.expected;
    await using server = await startServer(folder.data);
    expect(server.lines).toEqual([`listening on ${server.url}`]);
    const listed = (await server.call("GET", "/v2/account/secrets", { key: ownerKey })).json.secrets;
    const shown = listed.map(({ name, description }: Expected["secrets"][number]) => ({ name, description }));
    expect(shown.toReversed()).toEqual(secrets.map(({ name, description }) => ({ name, description })));
    expect((await server.call("GET", "/v2/account/ssh-keys", { key: readerKey })).json).toEqual({ keys: sshKeys });
    const body = { description: "changed" };
    const path = `/v2/account/secrets/${listed[0].id}`;
    expect((await server.call("PATCH", path, { key: readerKey, body })).status).toBe(403);
    expect((await server.call("PATCH", path, { key: ownerKey, body })).json.description).toBe("changed");
  });

  test("is copied before it is changed, and the log says where to and how long it took", async () => {
    await using folder = await copied();
    const file = join(folder.data, "store.db");
    await using server = await startServer(folder.data);
    await server.end("SIGTERM");
    const copy = /A copy of the old file is in (\S+)\. Remove/.exec(server.log())?.[1];
    expect(copy).toMatch(/store\.db\.format-\d+$/);
    expect(server.log()).toMatch(/brought \S+store\.db from format \d+ to \d+ in \d+ ms/);
    await rename(copy!, file);
    await using installation = await openInstallation(settingsFrom({}, { data: folder.data }), { thread: false });
    expect((await installation.accounts.firstOwner()).account).toBeTruthy();
  });

  test("gives its secrets' values to a boot", async () => {
    await using folder = await copied();
    await using installation = await openInstallation(settingsFrom({}, { data: folder.data }), { thread: false });
    const { account } = await installation.accounts.firstOwner();
    for (const { name, value } of folder.expected.secrets) {
      expect([name, await installation.secrets.reveal(account, name)]).toEqual([name, value]);
    }
  });
});
