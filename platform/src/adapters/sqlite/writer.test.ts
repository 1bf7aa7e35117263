/** What happens to a batch when the disk fails, when it is full, or when the file is gone. */
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Disk } from "../../ports/disk.ts";
import { BatchRunner, type Command, type Flushed, type Flusher, GroupCommit, type Program } from "./writer.ts";

const program: Program = {
  migrations: ["CREATE TABLE notes (text TEXT)"],
  commands: { note: (db, text: string) => void db.prepare("INSERT INTO notes VALUES (?)").run(text) },
};
const NOTE: Command[] = [{ name: "note", input: "a note" }];

test("what goes to a file that was moved away or removed is not acknowledged, and is again once the file is back", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-writer-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const place = join(folder, "data");
  await rename(await mkdtemp(join(folder, "new-")), place);
  const runner = new BatchRunner(join(place, "notes.db"), program);
  onTestFinished(() => runner.close());
  expect(runner.run(NOTE)).toHaveProperty("outputs");
  await rename(place, `${place}-away`);
  for (let n = 0; n < 2; n++) expect(runner.run(NOTE)).toEqual({ failed: expect.stringContaining("moved or removed") });
  await rename(`${place}-away`, place);
  expect(runner.run(NOTE)).toHaveProperty("outputs");
});

/** A disk that holds back some space once. */
function setup(answers: Flushed[]) {
  const released: number[] = [];
  const disk: Disk = { refusal: undefined, release: async () => released.push(0) === 1 };
  const flusher: Flusher = {
    flush: async () => answers.shift()!,
    checkpoint: async () => "emptied",
    close: async () => {},
  };
  return { writer: new GroupCommit(flusher, { disk }), released };
}

const FULL = { failed: "database or disk is full", isFull: true };

test("a batch for which there was no room is written into what was held back", async () => {
  const { writer, released } = setup([FULL, { outputs: ["written"] }]);
  expect(await writer.run("note", "a note")).toBe("written");
  expect(released).toHaveLength(1);
});

test("without room that is held back it is refused, and so is what fails for another reason", async () => {
  const { writer } = setup([FULL, FULL, FULL, { failed: "disk I/O error" }]);
  for (const reason of [/disk is full/, /disk is full/, /disk I\/O error/])
    await expect(writer.run("note", "a note")).rejects.toThrow(reason);
});

/** A disk on which every write fails. */
const broken: Flusher = {
  flush: async (): Promise<Flushed> => ({ failed: "disk I/O error" }),
  checkpoint: async () => "emptied",
  close: async () => {},
};

const REFUSED = { code: "unavailable", detail: "The data folder could not be written: disk I/O error" };

test("a failed write is refused to everybody who waits, after memory was read anew, and the next one is tried", async () => {
  let anew = 0;
  const writer = new GroupCommit(broken, { failTogether: () => void anew++ });
  await Promise.all([1, 2].map((n) => expect(writer.run("write", n)).rejects.toMatchObject(REFUSED)));
  await expect(writer.run("write", 3)).rejects.toMatchObject(REFUSED);
  expect(anew).toBe(2);
  await writer.close();
});

test("where memory cannot be read anew either, that is told once, everybody is refused, and closing works", async () => {
  const told: [string, unknown][] = [];
  const fault = new Error("malformed database");
  const writer = new GroupCommit(broken, {
    failTogether: () => {
      throw fault;
    },
    lost: (reason, cause) => told.push([reason, cause]),
  });
  await Promise.all([1, 2].map((n) => expect(writer.run("write", n)).rejects.toMatchObject(REFUSED)));
  await expect(writer.run("write", 3)).rejects.toMatchObject({ detail: "The server is shutting down." });
  expect(told).toEqual([["what is kept could not be read anew after a write that failed", fault]]);
  await writer.close();
});
