/** Turns errors into text that accounts may read: system errors name the server's own folders, which accounts must not see. */
import { realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import { hidePlace, withoutPlaces } from "./places.ts";

interface SystemError extends Error {
  code?: string | number;
  syscall?: string;
  /** Set when a program failed that the server had run. */
  cmd?: string;
}

/** From now on no reason and no line of an account's log names this folder, or anything in it. */
export function hideFolder(folder: string): void {
  const whole = resolve(folder);
  for (const name of [whole, realOf(whole)]) hidePlace(name);
}

function realOf(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

/** The server's own messages lose the paths of its files. For the system's errors, only what went wrong is told, not where. */
export function tellable(error: unknown): string {
  if (!(error instanceof Error)) return withoutPlaces(String(error));
  const { code, syscall, cmd, message } = error as SystemError;
  if (cmd !== undefined) return `the server's program '${basename(cmd.split(" ", 1)[0]!)}' failed (${code})`;
  // The message looks like "ENOENT: no such file or directory, open '/srv/…'".
  if (syscall !== undefined)
    return /^(E[A-Z0-9]+: [^,]+),/.exec(message)?.[1] ?? `${code} (${syscall.split(" ", 1)[0]})`;
  return withoutPlaces(message);
}
