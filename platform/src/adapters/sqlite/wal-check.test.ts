/** A write-ahead log is read as SQLite reads it, and the commits that SQLite would drop silently are found. */
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { damageIn, keepDamaged } from "./wal-check.ts";
import { openDatabase } from "./writer.ts";

const COMMITS = 6;
const HEADER = 32;
const FRAME = 24 + 4096;

/** The log of a database that was killed after some commits. Each commit is one frame. */
async function logAfterKill(before: (db: DatabaseSync) => void = () => {}): Promise<{ bytes: Buffer; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-wal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const live = join(folder, "live.db");
  using db = openDatabase(live);
  db.exec("CREATE TABLE notes (number INTEGER)");
  before(db);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  for (let n = 0; n < COMMITS; n++) db.exec(`INSERT INTO notes VALUES (${n})`);
  const file = join(folder, "killed.db");
  await copyFile(live, file);
  await copyFile(`${live}-wal`, `${file}-wal`);
  return { bytes: await readFile(`${file}-wal`), file };
}

function damaged(bytes: Buffer, from: number, length = 1): Buffer {
  const copy = Buffer.from(bytes);
  for (let at = from; at < from + length; at++) copy[at]! ^= 0xff;
  return copy;
}

test("a whole log has no damage, and neither has an empty or a missing one", async () => {
  const { bytes, file } = await logAfterKill();
  expect(bytes.length).toBe(HEADER + COMMITS * FRAME);
  expect(damageIn(bytes)).toBeUndefined();
  expect(damageIn(Buffer.alloc(0))).toBeUndefined();
  expect(await keepDamaged(`${file}-nowhere`, 0)).toBeUndefined();
});

test("what an earlier round left in the file is no damage", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-wal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  using db = openDatabase(join(folder, "live.db"));
  db.exec("CREATE TABLE notes (number INTEGER)");
  for (let n = 0; n < 20; n++) db.exec(`INSERT INTO notes VALUES (${n})`);
  db.exec("PRAGMA wal_checkpoint(RESTART)");
  db.exec("INSERT INTO notes VALUES (20)");
  expect(damageIn(await readFile(join(folder, "live.db-wal")))).toBeUndefined();
});

test("a commit that was never whole is no damage: nobody was told of it", async () => {
  const { bytes } = await logAfterKill((db) => db.exec("CREATE TABLE large (text TEXT)"));
  const torn = Buffer.from(bytes);
  // Frames without the end of a commit, the first of which did not reach the disk.
  for (const frame of [COMMITS - 2, COMMITS - 1]) torn.writeUInt32BE(0, HEADER + frame * FRAME + 4);
  expect(damageIn(torn)).toBeUndefined();
});

test.each([
  ["a bit in a page", (bytes: Buffer) => damaged(bytes, HEADER + 2 * FRAME + 100)],
  ["a whole frame", (bytes: Buffer) => damaged(bytes, HEADER + 2 * FRAME, FRAME)],
  ["the checksum of a frame", (bytes: Buffer) => damaged(bytes, HEADER + 2 * FRAME + 16)],
])("damage of %s is found, with as many commits as SQLite loses", async (_, damage) => {
  const { bytes, file } = await logAfterKill();
  const found = damageIn(damage(bytes))!;
  expect(found.at).toBe(HEADER + 2 * FRAME);
  await writeFile(`${file}-wal`, damage(bytes));
  using db = new DatabaseSync(file);
  const { left } = db.prepare("SELECT count(*) AS left FROM notes").get() as { left: number };
  expect(left).toBe(2);
  // A commit whose last frame is damaged cannot be counted.
  expect(found.commits).toBeGreaterThanOrEqual(COMMITS - left - 1);
  expect(found.isLastOnly).toBe(false);
});

test("a damaged head loses everything, and is found", async () => {
  const { bytes } = await logAfterKill();
  for (const at of [0, 9, 17, 25]) expect(damageIn(damaged(bytes, at))).toMatchObject({ at: 0, commits: undefined });
});

test("damage of the last commit may be a failure of the power, and is said to be", async () => {
  const { bytes } = await logAfterKill();
  const last = HEADER + (COMMITS - 1) * FRAME;
  expect(damageIn(damaged(bytes, last + 50))).toMatchObject({ at: last, commits: 1, isLastOnly: true });
});

test("a damaged log is kept as it was found", async () => {
  const { bytes, file } = await logAfterKill();
  const broken = damaged(bytes, HEADER + 100);
  await writeFile(`${file}-wal`, broken);
  const { kept } = (await keepDamaged(file, 0))!;
  new DatabaseSync(file).close();
  expect((await readFile(kept)).equals(broken)).toBe(true);
  expect(await readdir(join(file, ".."))).toContain("killed.db-wal.damaged-1970-01-01T00-00-00.000Z");
});
