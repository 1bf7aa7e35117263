/** A file of an older release is copied and upgraded, and each step is reported. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tests/process.ts";
import { roomIn } from "../../ports/disk.ts";
import { type Upgrading, upgrade } from "./upgrade.ts";

const FIRST = "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('first')";
const SECOND = "INSERT INTO notes VALUES ('second')";
const THIRD = "INSERT INTO notes VALUES ('third')";

async function setup() {
  const folder = await temporaryFolder();
  const file = join(folder.path, "store.db");
  const said: string[] = [];
  const brought = (migrations: string[], given: Partial<Upgrading> = {}) =>
    upgrade(file, migrations, { say: (text) => said.push(text), copies: true, ...given });
  const notes = (name: string) => {
    using db = new DatabaseSync(join(folder.path, name));
    return db
      .prepare("SELECT text FROM notes")
      .all()
      .map(({ text }) => text);
  };
  using db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; ${FIRST}; PRAGMA user_version = 1`);
  const copies = () => readdirSync(folder.path).filter((name) => name.includes(".format-"));
  return { file, said, brought, notes, copies, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

test("is copied as it was, for its owner alone, and each step is told", async () => {
  await using world = await setup();
  await world.brought([FIRST, SECOND]);
  expect(world.notes("store.db")).toEqual(["first", "second"]);
  expect(world.notes("store.db.format-1")).toEqual(["first"]);
  expect(statSync(`${world.file}.format-1`).mode & 0o777).toBe(0o600);
  expect(world.said).toEqual([
    `bringing ${world.file} from format 1 to 2. A copy of the old file is in ${world.file}.format-1. ` +
      "Remove it when all is well, because it keeps data that you delete from now on.",
    expect.stringMatching(/^brought .*store\.db from format 1 to 2 in \d+ ms$/),
  ]);
});

test("only the newest copy is kept, and a file of today is left alone", async () => {
  await using world = await setup();
  await world.brought([FIRST, SECOND]);
  await world.brought([FIRST, SECOND, THIRD]);
  expect(world.copies()).toEqual(["store.db.format-2"]);
  world.said.length = 0;
  await world.brought([FIRST, SECOND, THIRD]);
  expect(world.said).toEqual([]);
});

test("a copy that was broken off is made anew", async () => {
  await using world = await setup();
  writeFileSync(`${world.file}.format-1.unfinished`, "half of it");
  await world.brought([FIRST, SECOND]);
  expect(world.copies()).toEqual(["store.db.format-1"]);
});

test("without room for the copy nothing is changed, and it says how to go on without", async () => {
  await using world = await setup();
  const before = readFileSync(world.file);
  const room = async (folder: string) => ({ ...(await roomIn(folder)), freeBytes: 5 });
  await expect(world.brought([FIRST, SECOND], { room })).rejects.toThrow(
    /has no room for the copy that is made before \(1 MB needed, 0 MB free\): make room, or copy the folder elsewhere and start once with --upgrade-copy off/,
  );
  expect([world.copies(), readFileSync(world.file).equals(before)]).toEqual([[], true]);
  await world.brought([FIRST, SECOND], { room, copies: false });
  expect([world.notes("store.db"), world.copies()]).toEqual([["first", "second"], []]);
  expect(world.said[0]).toContain("No copy was made before.");
});
