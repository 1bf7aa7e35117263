/** Files that only their owner may read: made once, on the disk for good before anyone relies on them. */
import { constants } from "node:fs";
import { link, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname } from "node:path";

export const readPrivate = (file: string) => readFile(file, "utf8");

/** Makes the file with mode 0600, whole or not at all, unless it is there already: whoever came first counts. */
export async function keepPrivately(file: string, text: string): Promise<void> {
  const draft = `${file}.${process.pid}.new`;
  await writeDurably(draft, text);
  try {
    await link(draft, file);
    await syncFolder(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await unlink(draft);
  }
}

/** Replaces the file as one step: a reader sees the old text or the new, never half. */
export async function replacePrivately(file: string, text: string): Promise<void> {
  await writeDurably(`${file}.next`, text);
  await rename(`${file}.next`, file);
  await syncFolder(dirname(file));
}

async function writeDurably(file: string, text: string): Promise<void> {
  await using handle = await open(file, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600);
  await handle.writeFile(text);
  await handle.sync();
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, constants.O_RDONLY);
  await handle.sync();
}
