/** Upgrades a SQLite file of an older release to today's format. It makes a copy first, which is the only way back. */
import { existsSync, statSync } from "node:fs";
import { open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { type Clock, realClock } from "../../kernel/clock.ts";
import { isFull, roomIn } from "../../ports/disk.ts";
import { migrate, openDatabase, schemaOf } from "./writer.ts";

export interface Upgrading {
  /** Receives a sentence for each step. */
  say(text: string): void;
  /** Whether a copy is made first. */
  copies: boolean;
  clock?: Pick<Clock, "monotonic">;
  room?: typeof roomIn;
}

const MIB = 1_048_576;

/** Leaves a file alone that is new, of today's release or of a newer one. */
export async function upgrade(
  file: string,
  migrations: readonly string[],
  { say, copies, clock = realClock, room = roomIn }: Upgrading,
): Promise<void> {
  const format = existsSync(file) ? formatOf(file) : 0;
  if (format === 0 || format >= migrations.length) return;
  const what = `${file} from format ${format} to ${migrations.length}`;
  if (copies) await makeCopy(file, format, { what, room });
  const kept = copies
    ? `A copy of the old file is in ${copyOf(file, format)}. Remove it when all is well, because it keeps data that you delete from now on.`
    : "No copy was made before.";
  say(`bringing ${what}. ${kept}`);
  const began = clock.monotonic();
  using db = openDatabase(file);
  migrate(db, migrations, file);
  say(`brought ${what} in ${Math.round(clock.monotonic() - began)} ms`);
}

function formatOf(file: string): number {
  using db = new DatabaseSync(file, { readOnly: true });
  return schemaOf(db);
}

const copyOf = (file: string, format: number) => `${file}.format-${format}`;

/** The copy has another name until it is complete. Copies of older formats are removed. */
async function makeCopy(
  file: string,
  format: number,
  { what, room }: { what: string; room: typeof roomIn },
): Promise<void> {
  const [folder, copy] = [dirname(file), copyOf(file, format)];
  const unfinished = `${copy}.unfinished`;
  const needed = bytesOf(file) + bytesOf(`${file}-wal`);
  const { freeBytes } = await room(folder);
  if (freeBytes < needed) throw noRoom(what, folder, needed, freeBytes);
  try {
    await rm(unfinished, { force: true });
    await (await open(unfinished, "wx", 0o600)).close();
    using db = new DatabaseSync(file, { readOnly: true });
    await backup(db, unfinished);
    await rename(unfinished, copy);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw isFull(error) ? noRoom(what, folder, needed, freeBytes) : error;
  }
  const others = (await readdir(folder)).filter((name) => isCopyOf(file, name) && name !== basename(copy));
  for (const name of others) await rm(join(folder, name), { force: true });
}

const isCopyOf = (file: string, name: string) =>
  /^\.format-\d+$/.test(name.slice(basename(file).length)) && name.startsWith(basename(file));

const bytesOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

const noRoom = (what: string, folder: string, needed: number, free: number) =>
  new Error(
    `this release has to bring ${what}, and ${folder} has no room for the copy that is made before (${Math.ceil(needed / MIB)} MB needed, ` +
      `${Math.floor(free / MIB)} MB free): make room, or copy the folder elsewhere and start once with --upgrade-copy off (MILLRACE_UPGRADE_COPY).`,
  );
