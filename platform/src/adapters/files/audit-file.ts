/** Appends the audit log to a file. The file is opened for each batch, so that a file that was rotated away begins anew. */
import type { Stats } from "node:fs";
import { appendFile, constants, open, stat } from "node:fs/promises";
import type { LineKeeper } from "../../kernel/line-keeper.ts";

/** Entries name people and addresses. */
const MODE = 0o600;
const NEW_LINE = 10;

export const auditFile = (path: string): LineKeeper => ({
  name: path,
  async keep(lines) {
    const found = await stat(path).catch(() => undefined);
    await using _ = found?.isFIFO() ? await readPipe(path) : undefined;
    const text = `${lines.join("\n")}\n`;
    await appendFile(path, found && (await endsInMidLine(path, found)) ? `\n${text}` : text, { mode: MODE });
  },
});

/** Fails if nobody reads the pipe. A usual `open` would wait for a reader in a thread, which nothing ends, not even the end of the server. */
async function readPipe(path: string): Promise<AsyncDisposable> {
  return open(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "ENXIO" ? new Error(`${path} is a pipe, and nobody reads it`, { cause: error }) : error;
  });
}

/** A full disk or a power cut may have left a line without its end. A pipe is not looked into. */
async function endsInMidLine(path: string, found: Stats): Promise<boolean> {
  if (!found.isFile() || found.size === 0) return false;
  await using file = await open(path, "r");
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, found.size - 1);
  return buffer[0] !== NEW_LINE;
}
