/** Files that only their owner may read. They are safely on disk before anyone relies on them. */
import { readFile } from "node:fs";
import { type FileHandle, link, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";

// The command line reads such files at each start. This way it need not load `node:fs/promises`, which takes longer than reading.
const read = promisify(readFile);

export const readPrivate = (file: string): Promise<string> => read(file, "utf8");

/** Creates the file with mode 0600, whole or not at all. If it exists, it stays unchanged: of two processes, the first wins. */
export async function keepPrivately(file: string, text: string): Promise<void> {
  const draft = await draftOf(file);
  try {
    await writeDurably(draft, text);
    await link(draft, file);
    await syncFolder(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Replaces the file in one step: a reader sees the old text or the new one, never a mix. Its owner can read it as before. */
export async function replacePrivately(file: string, text: string): Promise<void> {
  const draft = await draftOf(file);
  try {
    await writeDurably(draft, text, (handle) => giveAway(handle, file));
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(dirname(file));
}

/** Each write gets a name of its own. One process may write twice at once, and in containers every process has the id 1. */
async function draftOf(file: string): Promise<string> {
  // Commands of a few milliseconds read such files and write none. Node's cryptography, which random bytes need, takes as long to load.
  const { realRandom } = await import("./random.ts");
  return `${file}.${Buffer.from(realRandom.bytes(9)).toString("base64url")}.new`;
}

async function writeDurably(
  file: string,
  text: string,
  before: (handle: FileHandle) => Promise<void> = async () => {},
): Promise<void> {
  await using handle = await open(file, "wx", 0o600);
  await before(handle);
  await handle.writeFile(text);
  await handle.sync();
}

/** A command that root runs must not shut out the user of the server. Without the right to give files away, the new one stays root's. */
async function giveAway(handle: FileHandle, file: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const owner = await stat(file).catch(() => undefined);
  if (owner && owner.uid !== 0) await handle.chown(owner.uid, owner.gid).catch(() => {});
}

export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync();
}
