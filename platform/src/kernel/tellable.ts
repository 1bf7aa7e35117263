/** Errors as reasons that accounts read: what the system says of the server's own files and programs names folders that are nobody's business. */
import { basename } from "node:path";

interface SystemError extends Error {
  code?: string | number;
  syscall?: string;
  /** Of a program that was run to its end. */
  cmd?: string;
}

/** What the server itself says is told as it is; of the system's errors, what went wrong and not where. */
export function tellable(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, syscall, cmd, message } = error as SystemError;
  if (cmd !== undefined) return `the server's program '${basename(cmd.split(" ", 1)[0]!)}' failed (${code})`;
  // "ENOENT: no such file or directory, open '/srv/…'"
  if (syscall !== undefined)
    return /^(E[A-Z0-9]+: [^,]+),/.exec(message)?.[1] ?? `${code} (${syscall.split(" ", 1)[0]})`;
  return message;
}
