/** Verifies a backup without restoring it, and a data folder without changing it. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Header } from "../../adapters/backup/archive.ts";
import type { Openers } from "../../adapters/backup/sealing.ts";
import { damageOf, lookInto, refuseNewer } from "../../adapters/sqlite/snapshot.ts";
import { DATABASES, PAYLOADS } from "./places.ts";
import { inBackup } from "./reading.ts";

/** What was found to be whole. */
export interface Checked {
  formats: Record<string, number>;
  payloads: number;
}

/** Reads every byte of the file. */
export async function checkBackup(file: string, openers: Openers): Promise<{ header: Header; parts: number }> {
  return inBackup(file, openers, async ({ header, parts }) => {
    let [count, bytes] = [0, 0];
    for await (const part of parts) {
      for await (const piece of part.content) bytes += piece.length;
      count++;
    }
    if (bytes !== header.bytes) throw new Error(`its parts have ${bytes} bytes, and its header says ${header.bytes}`);
    return { header, parts: count };
  });
}

/** A server may run on the folder meanwhile. */
export async function checkFolder(data: string): Promise<Checked> {
  const { missing, ...checked } = await lookInFolder(data);
  if (missing.length > 0)
    throw notWhole(data, [
      `${missing.length} payload files are missing in ${join(data, PAYLOADS)}, such as ${missing[0]}`,
    ]);
  return checked;
}

/** Refuses damaged databases, and names the payload files that are not there. */
export async function lookInFolder(data: string): Promise<Checked & { missing: string[] }> {
  const formats: Record<string, number> = {};
  const wrong: string[] = [];
  for (const name of DATABASES) {
    const file = join(data, name);
    if (!existsSync(file)) throw new Error(`${data} holds no ${name}: it is no data folder with SQLite`);
    formats[name] = lookInto(file).format;
    refuseNewer(name, formats[name]);
    const damage = damageOf(file);
    if (damage !== undefined) wrong.push(`${name} is damaged: ${damage}`);
  }
  if (wrong.length > 0) throw notWhole(data, wrong);
  return { formats, ...(await payloadsOf(data)) };
}

const notWhole = (data: string, wrong: readonly string[]) =>
  new Error(`${data} is not whole: ${wrong.join("; ")}. Restore a backup`);

/** A file that is not there is missing only if the queue still names it afterwards. */
async function payloadsOf(data: string): Promise<{ payloads: number; missing: string[] }> {
  const names = lookInto(join(data, "queue.db")).payloads;
  const gone: string[] = [];
  for (const name of names) if (!(await stat(join(data, PAYLOADS, name)).catch(() => undefined))) gone.push(name);
  const still = gone.length > 0 ? new Set(lookInto(join(data, "queue.db")).payloads) : new Set<string>();
  return { payloads: names.length - gone.length, missing: gone.filter((name) => still.has(name)) };
}
