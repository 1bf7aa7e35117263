/** Store and queue are copied as they were at one moment, with the payload files of that moment. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../tests/process.ts";
import { program as queueProgram } from "./queue-program.ts";
import { takeSnapshot } from "./snapshot.ts";
import { program as storeProgram } from "./store-program.ts";
import { BatchRunner, openDatabase } from "./writer.ts";

async function setup() {
  const folder = await temporaryFolder();
  const [data, copies, kept] = ["data", "copies", "kept"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [data, copies, join(data, "payloads")]) mkdirSync(path);
  new BatchRunner(join(data, "store.db"), storeProgram).close();
  new BatchRunner(join(data, "queue.db"), queueProgram).close();
  const opened = new DisposableStack();
  const store = opened.use(openDatabase(join(data, "store.db")));
  const queue = opened.use(openDatabase(join(data, "queue.db")));
  store.exec("CREATE TABLE notes (number INTEGER)");
  queue.exec("CREATE TABLE notes (number INTEGER)");
  let written = 0;
  /** One write that belongs to both files. */
  const write = () => {
    written++;
    for (const db of [store, queue]) db.prepare("INSERT INTO notes VALUES (?)").run(written);
  };
  const put = (name: string) => {
    writeFileSync(join(data, "payloads", name), name);
    queue.prepare("INSERT INTO payloads VALUES (?, 'body', NULL, ?)").run(name, name);
  };
  const remove = (name: string) => {
    queue.prepare("DELETE FROM payloads WHERE file = ?").run(name);
    rmSync(join(data, "payloads", name));
  };
  const notesIn = (name: string) => {
    using db = new DatabaseSync(join(copies, name));
    return (db.prepare("SELECT max(number) AS last FROM notes").get() as { last: number }).last;
  };
  return {
    ...{ data, kept, store, queue, write, put, remove, notesIn },
    take: (now: () => number = () => 7) => takeSnapshot({ data, copies, kept }, now),
    async [Symbol.asyncDispose]() {
      opened.dispose();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("what is written after the moment is in neither copy", async () => {
  await using world = await setup();
  world.write();
  const { at, formats } = await world.take(() => {
    queueMicrotask(world.write);
    setImmediate(world.write);
    return 7;
  });
  world.write();
  expect(at).toBe(7);
  expect(formats).toEqual({ "store.db": storeProgram.migrations.length, "queue.db": queueProgram.migrations.length });
  expect([world.notesIn("store.db"), world.notesIn("queue.db")]).toEqual([1, 1]);
});

test("no writer comes between the two files", async () => {
  await using world = await setup();
  const busy = () => {
    using other = new DatabaseSync(join(world.data, "store.db"), { timeout: 0 });
    other.exec("BEGIN IMMEDIATE");
  };
  busy();
  await world.take(() => {
    expect(busy).toThrow("locked");
    return 7;
  });
  busy();
});

test("a payload that the server removes right after the moment is kept, with one that came just before", async () => {
  await using world = await setup();
  world.put("early");
  const taking = world.take(() => {
    queueMicrotask(() => ["early", "late"].forEach(world.remove));
    return 7;
  });
  world.put("late");
  expect((await taking).payloads.sort()).toEqual(["early", "late"]);
  expect(readdirSync(join(world.data, "payloads"))).toEqual([]);
  expect(readdirSync(world.kept).map((name) => readFileSync(join(world.kept, name), "utf8"))).toEqual([
    "early",
    "late",
  ]);
});

test("a payload that was removed before the moment is not asked for, and one that was lost is left out", async () => {
  await using world = await setup();
  for (const name of ["ended", "lost", "there"]) world.put(name);
  const taking = world.take();
  world.remove("ended");
  rmSync(join(world.data, "payloads", "lost"));
  const { payloads } = await taking;
  expect(payloads).toContain("there");
  expect(payloads).not.toContain("ended");
});

test("a database of a newer release and a damaged one are refused with the reason", async () => {
  await using newer = await setup();
  newer.store.exec("PRAGMA user_version = 99");
  await expect(newer.take()).rejects.toThrow(/store\.db has format 99, but this release .* written by a newer release/);
});

test("a damaged database is refused before anything is written, with what is wrong", async () => {
  await using world = await setup();
  for (let row = 0; row < 2000; row++) world.write();
  world.queue.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const file = join(world.data, "queue.db");
  const bytes = readFileSync(file);
  bytes.fill(0xff, bytes.length - 8192, bytes.length - 4096);
  writeFileSync(file, bytes);
  await expect(world.take()).rejects.toThrow(/queue\.db is damaged \(.*\): no backup was made\. Rescue/s);
});
