/** What a batch does when there is no room for it, or nothing any more to write to. */
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Disk } from "../disk.ts";
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

/** A disk of which some room is held back, once. */
function setup(answers: Flushed[]) {
  const released: number[] = [];
  const disk: Disk = { refusal: undefined, release: () => released.push(0) === 1 };
  const flusher: Flusher = {
    flush: async () => answers.shift()!,
    checkpoint: async () => true,
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
