/** Appends the audit log to a file. The file is opened for each batch, so that a file that was rotated away begins anew. */
import { appendFile, open, stat } from "node:fs/promises";
import type { LineKeeper } from "../../kernel/line-keeper.ts";

/** Entries name people and addresses. */
const MODE = 0o600;
const NEW_LINE = 10;

export const auditFile = (path: string): LineKeeper => ({
  name: path,
  async keep(lines) {
    const text = `${lines.join("\n")}\n`;
    await appendFile(path, (await endsInMidLine(path)) ? `\n${text}` : text, { mode: MODE });
  },
});

/** A full disk or a power cut may have left a line without its end. A pipe is not looked into. */
async function endsInMidLine(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size === 0) return false;
  await using file = await open(path, "r");
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, found.size - 1);
  return buffer[0] !== NEW_LINE;
}
