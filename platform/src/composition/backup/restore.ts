/** Puts a backup into an empty folder. A folder whose restore was killed is refused by the server until it is restored again. */
import { existsSync } from "node:fs";
import { mkdir, open, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Header, Part } from "../../adapters/backup/archive.ts";
import type { Openers } from "../../adapters/backup/sealing.ts";
import { loadMasterKeys } from "../../adapters/files/master-keys.ts";
import { tryLockFolder } from "../../adapters/sqlite/folder-lock.ts";
import { syncFolder } from "../../kernel/private-file.ts";
import { isFull, roomIn } from "../../ports/disk.ts";
import { type Settings, withoutSecrets } from "../../settings/settings.ts";
import { makeDataFolder, masterKeyFile, real } from "../installation.ts";
import { keysIn, namesOf, refuseDatabase } from "./backup.ts";
import { type Checked, lookInFolder } from "./check.ts";
import { DATABASES, KEY_FILES, PAYLOADS, PLAIN_FILES, RESTORING } from "./places.ts";
import { inBackup } from "./reading.ts";

export interface RestoreWish extends Openers {
  /** The file with the master key, if the backup does not hold it. */
  masterKeyFile?: string | undefined;
  /** Restores even if nobody can read the secrets then. */
  withoutMasterKey?: boolean;
}

export interface Restored {
  data: string;
  header: Header;
  checked: Checked;
  /** Payload files that were gone when the backup was made. Whoever reads such a job is told so. */
  lost: number;
  hasMasterKey: boolean;
}

const MIB = 1_048_576;
const LOCK = "server.lock";

export async function restoreBackup(settings: Settings, file: string, wish: RestoreWish): Promise<Restored> {
  refuseDatabase(settings);
  const { data } = settings;
  return inBackup(file, wish, async ({ header, parts }) => {
    await refuseUsed(data);
    const key = await masterKeyFor(settings, header, wish);
    const hasMasterKey = header.hasKeys || key !== undefined || isFromOutside(settings);
    if (!hasMasterKey && !wish.withoutMasterKey) throw noMasterKey(header);
    const isNew = !existsSync(data);
    await makeDataFolder(settings, { isRestore: true });
    const lock = tryLockFolder(data);
    if (!lock) throw new Error(`another restore into ${data}, or a server, is under way: wait until it has ended`);
    let isDone = false;
    try {
      await removeBroken(data);
      await mkdir(join(data, RESTORING), { mode: 0o700 });
      await syncFolder(data);
      await refuseNoRoom(data, header);
      await writeParts(data, parts);
      if (key) await writeFile(join(data, "master-key"), pieces(key.text));
      const { missing, ...checked } = await lookInFolder(data);
      await syncFolder(data);
      await rmdir(join(data, RESTORING));
      isDone = true;
      return { data, header, checked, lost: missing.length, hasMasterKey };
    } catch (error) {
      throw isFull(error) ? new Error(`the disk of ${data} is full: nothing was restored`, { cause: error }) : error;
    } finally {
      if (!isDone) await removeBroken(data);
      lock[Symbol.dispose]();
      if (!isDone) await rm(join(data, LOCK), { force: true });
      if (!isDone && isNew) await rmdir(data).catch(() => undefined);
    }
  });
}

/** A folder with a restore that was killed counts as empty: nothing else was made there since. */
async function refuseUsed(data: string): Promise<void> {
  const names = await readdir(data).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [] as string[];
    throw error;
  });
  if (names.length > 0 && !names.includes(RESTORING))
    throw new Error(
      `${data} is not empty (${names.slice(0, 3).join(", ")}): a backup is restored into an empty folder, named by --data or MILLRACE_DATA`,
    );
}

/** Removes what a restore may have written, and nothing else. The mark goes last. */
async function removeBroken(data: string): Promise<void> {
  const databases = DATABASES.flatMap((name) => [name, `${name}-wal`, `${name}-shm`]);
  for (const name of [...databases, ...PLAIN_FILES, ...KEY_FILES, PAYLOADS, RESTORING])
    await rm(join(data, name), { recursive: true, force: true });
}

async function refuseNoRoom(data: string, { bytes }: Header): Promise<void> {
  const { freeBytes } = await roomIn(data);
  if (freeBytes < bytes)
    throw new Error(
      `the backup needs ${Math.ceil(bytes / MIB)} MB, and the disk of ${data} has ${Math.floor(freeBytes / MIB)} MB free: nothing was restored`,
    );
}

async function writeParts(data: string, parts: AsyncIterable<Part>): Promise<void> {
  await mkdir(join(data, PAYLOADS), { mode: 0o700 });
  for await (const { name, content } of parts) await writeFile(join(data, name), content);
  await syncFolder(join(data, PAYLOADS));
}

async function writeFile(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  await using file = await open(path, "wx", 0o600);
  await file.writeFile(content);
  await file.sync();
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

const isFromOutside = ({ masterKey, masterKeyCommand }: Settings) =>
  masterKey !== undefined || masterKeyCommand !== undefined;

/** The key that a person names, or the one in the settings, must be the backup's. */
async function masterKeyFor(
  settings: Settings,
  { masterKeys, hasKeys }: Header,
  wish: RestoreWish,
): Promise<{ text: string } | undefined> {
  const [current] = masterKeys;
  const refuseOther = (names: readonly string[], where: string) => {
    if (current !== undefined && !names.includes(current))
      throw new Error(`${where} is not the master key of this backup, which is the one named ${current}`);
  };
  if (hasKeys) return undefined;
  if (wish.masterKeyFile !== undefined) {
    const { text, names } = await keysIn(wish.masterKeyFile);
    refuseOther(names, wish.masterKeyFile);
    return { text };
  }
  if (isFromOutside(settings)) {
    const { masterKey: text, masterKeyCommand: command } = settings;
    const source = { text, command, file: masterKeyFile(settings), environment: withoutSecrets(process.env) };
    refuseOther(namesOf(await loadMasterKeys(source, real.random)), "the key of MILLRACE_MASTER_KEY");
  }
  return undefined;
}

const noMasterKey = ({ masterKeys: [current] }: Header) =>
  new Error(
    `the backup was made without the master key (${current}), so nobody could read the secrets: name the key's file by --master-key-file, ` +
      "or set MILLRACE_MASTER_KEY. --without-master-key restores everything else",
  );
