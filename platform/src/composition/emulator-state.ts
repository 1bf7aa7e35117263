/** The state of an emulator in one file: its records, its jobs, its keys and its time. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { copyDatabase } from "../adapters/sqlite/backup.ts";
import { ifNotThere } from "../kernel/not-there.ts";

const FORMAT = 1;
const DATABASES = ["store.db", "queue.db"];
const FILES = ["api-key", "machine-id", "master-key", "node-id"];
const FOLDERS = ["payloads"];
const MOST_BYTES = 1_073_741_824;
/** The end of the year 9999. Later times have no form that clients read. */
export const LAST_MS = 253_402_300_799_999;

interface State {
  millraceState: number;
  now: number;
  /** The files of the data folder, in base64. */
  files: Record<string, string>;
}

/** The file is replaced whole, so that a test never loads half of one. A file that is no state stays. */
export async function saveState(data: string, file: string, now: number): Promise<void> {
  const before = await readBounded(file);
  if (before) await stateIn(before, file);
  const state: State = { millraceState: FORMAT, now, files: await filesIn(data) };
  const unfinished = `${file}.unfinished`;
  // One folder alone is made: to make all of them never ends in a file system such as /proc, which has the parent and refuses the child.
  await mkdir(dirname(file)).catch(ifThere);
  await writeFile(unfinished, await promisify(gzip)(JSON.stringify(state)), { mode: 0o600 });
  await rename(unfinished, file);
}

function ifThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

async function filesIn(data: string): Promise<Record<string, string>> {
  const copies = await mkdtemp(join(tmpdir(), "millrace-state-"));
  try {
    for (const name of DATABASES) await copyDatabase(join(data, name), join(copies, name));
    const found = await Promise.all(FOLDERS.map((folder) => namesIn(data, folder)));
    const plain = [...FILES, ...found.flat()].map((name) => [name, join(data, name)] as const);
    const copied = DATABASES.map((name) => [name, join(copies, name)] as const);
    const read = [...plain, ...copied].map(async ([name, path]) => {
      const bytes = await readFile(path).catch(ifNotThere(undefined));
      return bytes && ([name, bytes.toString("base64")] as const);
    });
    return Object.fromEntries((await Promise.all(read)).filter((entry) => entry !== undefined));
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

async function namesIn(data: string, folder: string): Promise<string[]> {
  const entries = await readdir(join(data, folder), { recursive: true, withFileTypes: true }).catch(ifNotThere([]));
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(data.length + 1));
}

/** Puts the state into an empty data folder. Resolves with its time, or with undefined if there is no such file. */
export async function loadState(data: string, file: string): Promise<number | undefined> {
  const bytes = await readBounded(file);
  if (!bytes) return undefined;
  const { now, files } = await stateIn(bytes, file);
  for (const [name, text] of Object.entries(files)) {
    const path = join(data, name);
    if (!path.startsWith(`${data}/`)) throw new Error(`${file} is no state of an emulator: it names ${name}`);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, Buffer.from(text, "base64"), { mode: 0o600 });
  }
  return now;
}

/** Resolves with undefined if there is no such file. */
async function readBounded(file: string): Promise<Buffer | undefined> {
  const found = await stat(file).catch(ifNotThere(undefined));
  if (found && (!found.isFile() || found.size > MOST_BYTES))
    throw new Error(`${file} is no state of an emulator: it is no file of at most ${MOST_BYTES} bytes`);
  return found && readFile(file);
}

async function stateIn(bytes: Buffer, file: string): Promise<State> {
  try {
    const text = await promisify(gunzip)(bytes, { maxOutputLength: MOST_BYTES });
    const state: State = JSON.parse(text.toString("utf8"));
    if (state?.millraceState !== FORMAT) throw new Error(`its format is ${state?.millraceState}`);
    if (!(state.now >= 0 && state.now <= LAST_MS)) throw new Error("it has no time");
    const isMap = typeof state.files === "object" && state.files !== null;
    if (!isMap || !Object.values(state.files).every((text64) => typeof text64 === "string"))
      throw new Error("it has no files");
    return state;
  } catch (error) {
    throw new Error(`${file} is no state of an emulator: ${(error as Error).message}`, { cause: error });
  }
}
