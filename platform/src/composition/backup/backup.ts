/** Writes a data folder's records, jobs and payloads into one file, while a server may run on it. */
import { createReadStream, existsSync, statSync } from "node:fs";
import { link, mkdir, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { archived, type Header, type Part } from "../../adapters/backup/archive.ts";
import { type Seal, sealed } from "../../adapters/backup/sealing.ts";
import { EnvelopeVault } from "../../adapters/crypto/envelope-vault.ts";
import { loadMasterKeys } from "../../adapters/files/master-keys.ts";
import { tryLockFolder } from "../../adapters/sqlite/folder-lock.ts";
import { takeSnapshot } from "../../adapters/sqlite/snapshot.ts";
import { timestamp } from "../../kernel/clock.ts";
import { requestId } from "../../kernel/ids.ts";
import { syncFolder } from "../../kernel/private-file.ts";
import { isSame } from "../../kernel/same.ts";
import { isFull, roomIn } from "../../ports/disk.ts";
import { type Settings, withoutSecrets } from "../../settings/settings.ts";
import { lookForDamage, masterKeyFile, real, refuseNoInstallation } from "../installation.ts";
import { BACKUP_LOCK, DATABASES, KEPT, KEY_FILES, PLAIN_FILES } from "./places.ts";

export interface Wish {
  /** Whether the files that open everything go in: the master key and the owner's API key. */
  keys: boolean;
  seal?: Seal | undefined;
  /** The release that writes. */
  version: string;
}

export interface Made {
  file: string;
  header: Header;
  /** The size of the file. */
  bytes: number;
  isEncrypted: boolean;
}

const MIB = 1_048_576;
const PIECE_BYTES = 262_144;

/** The file is written under another name, and gets its own when it is safe on disk. A backup that breaks off leaves nothing. */
export async function makeBackup(settings: Settings, wanted: string, wish: Wish): Promise<Made> {
  refuseDatabase(settings);
  await refuseNoInstallation(settings);
  if (wish.keys && !wish.seal)
    throw new Error(
      "--with-keys needs an encrypted backup, since whoever has its file could open everything: add --passphrase-file or --recipient",
    );
  const file = await placeFor(wanted, settings.data);
  using lock = tryLockFolder(settings.data, BACKUP_LOCK);
  if (!lock) throw new Error(`another backup of ${settings.data} is being made: wait until it has ended`);
  await lookForDamage(settings);
  const work = `${file}.${requestId(real.random)}.unfinished`;
  const kept = join(settings.data, KEPT);
  await removeAll(kept);
  try {
    await mkdir(work, { mode: 0o700 });
    await refuseNoRoom(settings.data, work);
    const draft = join(work, "backup");
    const header = await writeDraft(settings, { work, kept, draft }, wish);
    const { size: bytes } = await stat(draft);
    await nameFinally(draft, file);
    return { file, header, bytes, isEncrypted: wish.seal !== undefined };
  } catch (error) {
    throw isFull(error)
      ? new Error(`the disk of ${dirname(file)} is full: no backup was made, and nothing is left of it`, {
          cause: error,
        })
      : error;
  } finally {
    await removeAll(work, kept);
  }
}

const removeAll = async (...folders: string[]): Promise<void> => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
};

export function refuseDatabase({ databaseUrl }: Settings): void {
  if (databaseUrl)
    throw new Error(
      "the records are in PostgreSQL, which has backups of its own: use pg_dump and pg_restore, as docs/operating.md says. " +
        "They hold the payloads too. Unset MILLRACE_DATABASE_URL to work on a data folder",
    );
}

async function placeFor(wanted: string, data: string): Promise<string> {
  const folder = await realpath(dirname(resolve(wanted))).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`the folder of ${wanted} cannot be used (${cause.code}): make it first`, { cause });
  });
  const file = join(folder, basename(wanted));
  if (existsSync(file)) throw new Error(`${wanted} is there already: name a new file`);
  if (`${folder}${sep}`.startsWith(`${await realpath(data)}${sep}`))
    throw new Error(`${wanted} is inside the data folder, with which it would be lost: name a file outside`);
  return file;
}

/** The databases are copied before they are compressed. */
async function refuseNoRoom(data: string, work: string): Promise<void> {
  const files = DATABASES.flatMap((name) => [join(data, name), join(data, `${name}-wal`)]);
  const needed = files.reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0);
  const { freeBytes } = await roomIn(work);
  if (freeBytes < needed)
    throw new Error(
      `the disk of ${dirname(work)} has ${Math.floor(freeBytes / MIB)} MB free, and a backup needs at least ` +
        `${Math.ceil(needed / MIB)} MB there while it is made: nothing is left of it`,
    );
}

interface Places {
  work: string;
  kept: string;
  draft: string;
}

async function writeDraft(settings: Settings, { work, kept, draft }: Places, wish: Wish): Promise<Header> {
  const { data } = settings;
  const masterKeys = await masterKeysOf(settings, wish);
  const { at, formats, payloads } = await takeSnapshot({ data, copies: work, kept }, real.clock.now);
  // A rotation seals the records anew and then drops the old keys, which the copies of before still need.
  if (!isSame(await masterKeysOf(settings, wish), masterKeys))
    throw new Error("the master keys changed while the backup was made: no backup was made, make one now");
  const small = [...PLAIN_FILES, ...(wish.keys ? KEY_FILES : [])].filter((name) => existsSync(join(data, name)));
  const files = [
    ...DATABASES.map((name) => ({ name, path: join(work, name) })),
    ...small.map((name) => ({ name, path: join(data, name) })),
    ...payloads.map((name) => ({ name: `payloads/${name}`, path: join(kept, name) })),
  ].map((one) => ({ ...one, bytes: statSync(one.path).size }));
  const bytes = files.reduce((sum, one) => sum + one.bytes, 0);
  const header: Header = { version: wish.version, at: timestamp(at), formats, masterKeys, hasKeys: wish.keys, bytes };
  const plain = archived(header, partsOf(files));
  await using written = await open(draft, "wx", 0o600);
  await written.writeFile(wish.seal ? await sealed(plain, wish.seal) : plain);
  await written.sync();
  return header;
}

async function* partsOf(files: readonly { name: string; path: string; bytes: number }[]): AsyncGenerator<Part> {
  for (const { name, path, bytes } of files)
    yield { name, bytes, content: createReadStream(path, { highWaterMark: PIECE_BYTES }) };
}

/** The names of the keys, by which a restore tells whether it was given the right one. */
async function masterKeysOf(settings: Settings, { keys }: Wish): Promise<string[]> {
  const { masterKey: text, masterKeyCommand: command } = settings;
  const file = masterKeyFile(settings);
  const isFile = !text && !command;
  if (isFile && !existsSync(file))
    throw new Error(`${file} is not there: set MILLRACE_MASTER_KEY or MILLRACE_MASTER_KEY_COMMAND as for the server`);
  if (!isFile && keys)
    throw new Error(
      "--with-keys cannot put the master key into the backup, since it is not in the data folder: keep it as you keep it today, and leave the flag out",
    );
  return namesOf(await loadMasterKeys({ text, command, file, environment: withoutSecrets(process.env) }, real.random));
}

export const namesOf = (keys: readonly Uint8Array[]): string[] => new EnvelopeVault(keys, real.random).masters;

/** Of a file that is there by now, nothing is replaced. */
async function nameFinally(draft: string, file: string): Promise<void> {
  try {
    await link(draft, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw new Error(`${file} was made by another program meanwhile: name a new file`);
    // Some file systems have no second names.
    await rename(draft, file);
  }
  await syncFolder(dirname(file));
}

/** Reads the keys of a file that a person names. */
export async function keysIn(file: string): Promise<{ text: string; names: string[] }> {
  const text = await readFile(file, "utf8");
  const keys = await loadMasterKeys({ text, file }, real.random);
  return { text, names: namesOf(keys) };
}
