/** Appends the audit log to a file. The file is opened for each batch, so that a file that was rotated away begins anew. */
import { appendFile } from "node:fs/promises";
import type { LineKeeper } from "../../kernel/line-keeper.ts";

/** Entries name people and addresses. */
const MODE = 0o600;

export const auditFile = (path: string): LineKeeper => ({
  name: path,
  keep: (lines) => appendFile(path, `${lines.join("\n")}\n`, { mode: MODE }),
});
