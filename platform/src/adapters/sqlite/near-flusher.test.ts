/** A batch is written on the calling thread while that is quick, and in the writer's thread when it would block everybody. */
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { NearFlusher } from "./near-flusher.ts";
import { type Command, type Flusher, GroupCommit, inlineFlusher, lateFlusher, type Program } from "./writer.ts";

const program: Program = {
  migrations: ["CREATE TABLE notes (text TEXT)"],
  commands: { note: (db, text: string) => void db.prepare("INSERT INTO notes VALUES (?)").run(text) },
};

/** A disk on which a write takes as long as the test says. */
async function setup({ tookMs = 0, isBrief = () => true }: { tookMs?: number; isBrief?: (batch: unknown) => boolean }) {
  const folder = await mkdtemp(join(tmpdir(), "millrace-flusher-"));
  const file = join(folder, "notes.db");
  const disk = { tookMs, free: Promise.resolve() };
  let ms = 0;
  const clock = { monotonic: () => (ms += disk.tookMs) };
  const inThread: Command[][] = [];
  const real = inlineFlusher(file, program);
  const thread: Flusher = {
    async flush(batch) {
      inThread.push(batch);
      await disk.free;
      return real.flush(batch);
    },
    checkpoint: () => real.checkpoint(),
    close: () => real.close(),
  };
  const flusher = new NearFlusher({ thread, file, program, clock, isBrief });
  const reader = new DatabaseSync(file);
  onTestFinished(async () => {
    reader.close();
    await flusher.close();
    await rm(folder, { recursive: true });
  });
  return {
    file,
    disk,
    inThread,
    flusher,
    reader,
    writer: new GroupCommit(flusher),
    notes: () => reader.prepare("SELECT text FROM notes").all().length,
    write: (text = "a note") => flusher.flush([{ name: "note", input: text }]),
  };
}

async function times(count: number, action: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await action();
}

test("on a quick disk a small batch is written without the thread", async () => {
  const { write, inThread, notes } = await setup({ tookMs: 0.2 });
  await times(10, write);
  expect(inThread).toHaveLength(0);
  expect(notes()).toBe(10);
});

test("what is not done in a moment goes to the thread", async () => {
  const { write, inThread, notes } = await setup({ isBrief: () => false });
  await write();
  expect(inThread).toHaveLength(1);
  expect(notes()).toBe(1);
});

test("a disk that is slow again and again is left to the thread, and tried anew later", async () => {
  const { write, inThread, disk, notes } = await setup({ tookMs: 20 });
  await times(20, write);
  expect(inThread.length).toBeGreaterThanOrEqual(15);
  disk.tookMs = 0.2;
  await times(256, write);
  const beforeItIsTried = inThread.length;
  await times(60, write);
  expect(inThread.length).toBeLessThanOrEqual(beforeItIsTried + 1);
  expect(notes()).toBe(336);
});

test("one slow write among quick ones changes nothing", async () => {
  const { write, inThread, disk } = await setup({ tookMs: 0.2 });
  await times(5, write);
  disk.tookMs = 20;
  await write();
  disk.tookMs = 0.2;
  await times(5, write);
  expect(inThread).toHaveLength(0);
});

test("a file that somebody else is writing to is waited for in the thread", async () => {
  const { write, reader, inThread, disk, notes } = await setup({});
  const freed = Promise.withResolvers<void>();
  disk.free = freed.promise;
  reader.exec("BEGIN IMMEDIATE");
  const written = write();
  expect(inThread).toHaveLength(1);
  reader.exec("ROLLBACK");
  freed.resolve();
  await written;
  expect(notes()).toBe(1);
});

test("a batch that fails is refused with the thread's reason, and leaves nothing behind", async () => {
  const { flusher, inThread, notes } = await setup({});
  const batch = [
    { name: "note", input: "written" },
    { name: "note", input: { no: "text" } },
  ];
  expect(await flusher.flush(batch)).toEqual({ failed: "Unknown named parameter 'no'" });
  expect(inThread).toEqual([batch]);
  expect(notes()).toBe(0);
});

test("everything that is ready shares one write", async () => {
  const { writer, notes } = await setup({});
  await Promise.all(Array.from({ length: 50 }, (_, i) => later(i).then(() => writer.run("note", `${i}`))));
  expect(writer.flushes).toBe(1);
  expect(notes()).toBe(50);
});

/** Resolves some promises later than others, like requests that take different paths. */
async function later(promises: number): Promise<void> {
  for (let i = 0; i < promises; i++) await undefined;
}

test("the log is moved into the file again and again, however little each batch brings", async () => {
  const { write, file, inThread } = await setup({});
  const page = "x".repeat(4000);
  await times(3000, () => write(page));
  expect(inThread.length).toBeGreaterThan(30);
  const { size } = await stat(`${file}-wal`);
  expect(size).toBeLessThan(2000 * 4200);
});

test("a thread is started for the first batch that needs it, and again if it could not start", async () => {
  const { flusher } = await setup({});
  const cannot = [new Error("no memory")];
  let starts = 0;
  const thread = lateFlusher(async () => {
    starts++;
    const error = cannot.pop();
    if (error) throw error;
    return flusher;
  });
  await thread.close();
  expect(starts).toBe(0);
  await expect(thread.flush([{ name: "note", input: "a" }])).rejects.toThrow("no memory");
  expect(await thread.flush([{ name: "note", input: "b" }])).toEqual({ outputs: [undefined] });
  thread.prepare!();
  expect(starts).toBe(2);
});
