/** Opens a backup for a restore or a check, and says of every failure which file it is about. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { NoBackup, type Part, type Reading, readArchive } from "../../adapters/backup/archive.ts";
import { type Openers, unsealed } from "../../adapters/backup/sealing.ts";
import { refuseNewer } from "../../adapters/sqlite/snapshot.ts";
import { DATABASES, isKnownPart } from "./places.ts";

const PIECE_BYTES = 262_144;

/** Reads a backup and gives it to `work`, which reads all parts. */
export async function inBackup<T>(file: string, openers: Openers, work: (reading: Reading) => Promise<T>): Promise<T> {
  await refuseNoFile(file);
  const bytes = createReadStream(file, { highWaterMark: PIECE_BYTES });
  try {
    const reading = await readArchive(await unsealed(bytes, openers));
    for (const [name, format] of Object.entries(reading.header.formats)) refuseNewer(name, format);
    return await work({ ...reading, parts: wholeParts(reading.parts) });
  } catch (error) {
    throw error instanceof NoBackup
      ? new Error(`${file} is no whole backup: ${error.message}`, { cause: error })
      : new Error(`${file}: ${(error as Error).message}`, { cause: error });
  } finally {
    bytes.destroy();
  }
}

/** A backup has both databases, each part once, and none that this release does not know. */
async function* wholeParts(parts: AsyncIterable<Part>): AsyncGenerator<Part> {
  const seen = new Set<string>();
  for await (const part of parts) {
    if (!isKnownPart(part.name) || seen.has(part.name))
      throw new NoBackup(`it has the part ${part.name}, which ${seen.has(part.name) ? "came before" : "is unknown"}`);
    seen.add(part.name);
    yield part;
  }
  const missing = DATABASES.filter((name) => !seen.has(name));
  if (missing.length > 0) throw new NoBackup(`it lacks ${missing.join(" and ")}`);
}

async function refuseNoFile(file: string): Promise<void> {
  const found = await stat(file).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${file} cannot be read (${cause.code})`, { cause });
  });
  if (!found.isFile()) throw new Error(`${file} is no file`);
}
