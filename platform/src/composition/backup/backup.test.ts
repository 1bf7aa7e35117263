/** A backup of a data folder is restored into an empty one, whole or not at all. */
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity, identityToRecipient } from "age-encryption";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tests/process.ts";
import { readArchive } from "../../adapters/backup/archive.ts";
import { SqliteQueue } from "../../adapters/sqlite/sqlite-queue.ts";
import { FakeClock } from "../../kernel/clock.ts";
import { SeededRandom } from "../../kernel/random.ts";
import { NOW, newJob } from "../../ports/queue/conformance-jobs.ts";
import { settingsFrom } from "../../settings/settings.ts";
import { openInstallation } from "../installation.ts";
import { makeBackup, type Wish } from "./backup.ts";
import { checkBackup, checkFolder } from "./check.ts";
import { RESTORING } from "./places.ts";
import { type RestoreWish, restoreBackup } from "./restore.ts";

const identity = await generateIdentity();
const seal = { recipients: [await identityToRecipient(identity)] };
const LARGE = JSON.stringify({ input: "x".repeat(2_000_000) });

async function setup() {
  const folder = await temporaryFolder();
  const [data, target, file] = ["data", "target", "a.millrace"].map((name) => join(folder.path, name)) as [
    ...[string, string, string],
  ];
  const parts = { clock: new FakeClock(), random: new SeededRandom(1), thread: false };
  {
    await using installation = await openInstallation(settingsFrom({}, { data }), parts);
    const owner = await installation.accounts.firstOwner();
    const caller = { ...owner, key: "test", grants: ["all" as const], exempt: true };
    await installation.secrets.create(caller, { name: "token", value: "a value", description: "" });
    await installation.masterKeys.check();
    await using queue = await SqliteQueue.open(data, parts);
    await queue.enqueue([{ ...newJob("large"), body: LARGE }, newJob("small")]);
  }
  return {
    ...{ data, target, file, folder: folder.path },
    back: (wish: Partial<Wish> = {}, to = file, settings = {}) =>
      makeBackup(settingsFrom(settings, { data }), to, { keys: false, version: "9.9.9", ...wish }),
    restore: (wish: RestoreWish = {}, to = target) => restoreBackup(settingsFrom({}, { data: to }), file, wish),
    async secretIn(place: string) {
      await using installation = await openInstallation(settingsFrom({}, { data: place }), parts);
      await installation.masterKeys.check();
      return await installation.secrets.reveal((await installation.accounts.firstOwner()).account, "token");
    },
    async bodyLength(place: string, id: string) {
      await using queue = await SqliteQueue.open(place, parts);
      const found = await queue.read(id, NOW, ["body"]);
      return found === "purged" ? found : found?.body?.length;
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

test("everything is there after a restore: records, secrets, jobs and large payloads", async () => {
  await using world = await setup();
  const made = await world.back({ keys: true, seal });
  expect(made).toMatchObject({ isEncrypted: true, header: { version: "9.9.9", hasKeys: true } });
  expect(statSync(world.file).mode & 0o777).toBe(0o600);
  expect(readdirSync(world.folder).sort()).toEqual(["a.millrace", "data"]);
  expect(readdirSync(world.data)).not.toContain("backup-payloads");
  const opener = { identities: [identity] };
  expect(await checkBackup(world.file, opener)).toMatchObject({ parts: 4, header: made.header });
  expect(await world.restore(opener)).toMatchObject({ hasMasterKey: true, checked: { payloads: 1 } });
  expect(statSync(join(world.target, "master-key")).mode & 0o777).toBe(0o600);
  expect(readdirSync(world.target)).not.toContain(RESTORING);
  expect(await world.secretIn(world.target)).toBe("a value");
  expect(await world.bodyLength(world.target, "large")).toBe(LARGE.length);
  expect(await checkFolder(world.target)).toMatchObject({ payloads: 1 });
});

test("a backup without the keys has nothing that opens a secret, and is restored with the key that was kept apart", async () => {
  await using world = await setup();
  await world.back();
  const names: string[] = [];
  const { parts } = await readArchive(readPieces(world.file));
  for await (const part of parts) {
    names.push(part.name);
    for await (const _ of part.content);
  }
  expect(names.filter((name) => /key/.test(name))).toEqual([]);
  await expect(world.restore()).rejects.toThrow(/made without the master key \([0-9a-f]{16}\).*--master-key-file/s);
  const other = join(world.folder, "other");
  writeFileSync(other, `${Buffer.alloc(32, 1).toString("base64")}\n`);
  await expect(world.restore({ masterKeyFile: other })).rejects.toThrow("is not the master key of this backup");
  expect(existsSync(world.target)).toBe(false);
  await world.restore({ masterKeyFile: join(world.data, "master-key") });
  expect(await world.secretIn(world.target)).toBe("a value");
});

async function* readPieces(file: string): AsyncGenerator<Uint8Array> {
  yield readFileSync(file);
}

test("a server without the master key does not start on what was restored without it", async () => {
  await using world = await setup();
  await world.back();
  expect(await world.restore({ withoutMasterKey: true })).toMatchObject({ hasMasterKey: false });
  await expect(world.secretIn(world.target)).rejects.toThrow("of this installation is not known here");
});

test("a backup is refused where it would be lost, replace something or reveal the keys", async () => {
  await using world = await setup();
  await expect(world.back({ keys: true })).rejects.toThrow("--with-keys needs an encrypted backup");
  await expect(world.back({}, join(world.data, "in.millrace"))).rejects.toThrow("is inside the data folder");
  await expect(world.back({}, join(world.folder, "none", "b"))).rejects.toThrow("cannot be used (ENOENT)");
  const settings = { MILLRACE_DATABASE_URL: "postgres://somewhere/db" };
  await expect(world.back({}, world.file, settings)).rejects.toThrow("use pg_dump and pg_restore");
  writeFileSync(world.file, "mine");
  await expect(world.back()).rejects.toThrow("is there already: name a new file");
  expect(readFileSync(world.file, "utf8")).toBe("mine");
  await rm(world.data, { recursive: true });
  await expect(world.back()).rejects.toThrow("there is no installation");
  expect(readdirSync(world.folder)).toEqual(["a.millrace"]);
});

test("a backup during which the master keys change is not made, since they might not open its secrets", async () => {
  await using world = await setup();
  const [keys, next] = [join(world.folder, "keys"), join(world.folder, "next")];
  writeFileSync(keys, readFileSync(join(world.data, "master-key")));
  writeFileSync(next, Buffer.alloc(32, 1).toString("base64"));
  const settings = { MILLRACE_MASTER_KEY_COMMAND: `cat ${keys}; mv -f ${next} ${keys} || true` };
  await expect(world.back({}, world.file, settings)).rejects.toThrow("the master keys changed while");
  expect(readdirSync(world.folder).sort()).toEqual(["data", "keys"]);
  expect(await world.back({}, world.file, settings)).toMatchObject({ isEncrypted: false });
});

test("only an empty folder takes a backup, and a cut one leaves nothing in it", async () => {
  await using world = await setup();
  await world.back();
  const wish = { masterKeyFile: join(world.data, "master-key") };
  await expect(world.restore(wish, world.data)).rejects.toThrow(/data is not empty \(/);
  truncateSync(world.file, statSync(world.file).size - 2000);
  await expect(world.restore(wish)).rejects.toThrow("a.millrace is no whole backup: it is cut");
  expect(existsSync(world.target)).toBe(false);
  await mkdir(world.target);
  await expect(world.restore(wish)).rejects.toThrow("it is cut");
  expect(readdirSync(world.target)).toEqual([]);
});

test("after a restore that was killed, nothing opens the folder until it is restored again", async () => {
  await using world = await setup();
  await world.back();
  await mkdir(join(world.target, RESTORING), { recursive: true });
  writeFileSync(join(world.target, "store.db"), "half of it");
  await expect(world.secretIn(world.target)).rejects.toThrow(
    /a restore into .* broke off: .* 'millrace restore' again/,
  );
  await world.restore({ masterKeyFile: join(world.data, "master-key") });
  expect(await world.secretIn(world.target)).toBe("a value");
});

test("a payload that is missing is named, and so is a folder without databases", async () => {
  await using world = await setup();
  const [payload] = readdirSync(join(world.data, "payloads"));
  await rm(join(world.data, "payloads", payload!));
  await expect(checkFolder(world.data)).rejects.toThrow(`1 payload files are missing`);
  await expect(checkFolder(world.folder)).rejects.toThrow("holds no store.db");
  // The backup holds what there is.
  await world.back();
  expect(await checkBackup(world.file, {})).toMatchObject({ parts: 2 });
  const restored = await world.restore({ masterKeyFile: join(world.data, "master-key") });
  expect(restored).toMatchObject({ lost: 1, checked: { payloads: 0 } });
  expect(await world.secretIn(world.target)).toBe("a value");
});
