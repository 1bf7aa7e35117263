/** Reads small records of the server on a volume where programs also write. */
import { type FilePath, FileRefused, type Files } from "../../ports/files/files.ts";

/** Undefined if the file does not exist, is too long, or may not be read. It may grow while it is read. */
export async function smallText(files: Files, path: FilePath, most: number): Promise<string | undefined> {
  try {
    await using opened = await files.hidden.open(path);
    if (!opened || opened.facts.size > most) return undefined;
    const chunks: Buffer[] = [];
    for await (const chunk of opened.read({ start: 0, end: most - 1 })) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  } catch (error) {
    if (error instanceof FileRefused) return undefined;
    throw error;
  }
}
