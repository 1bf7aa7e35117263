/** Errors as reasons that accounts read: what the system says of the server's own files and programs names folders that are nobody's business. */
import { realpathSync } from "node:fs";
import { basename, resolve } from "node:path";
import { hidePlace, withoutPlaces } from "./places.ts";

interface SystemError extends Error {
  code?: string | number;
  syscall?: string;
  /** Of a program that was run to its end. */
  cmd?: string;
}

/** From now on no reason and no line of an account's log names this folder, or what is in it. */
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

/** What the server itself says is told without the places of its files; of the system's errors, what went wrong and not where. */
export function tellable(error: unknown): string {
  if (!(error instanceof Error)) return withoutPlaces(String(error));
  const { code, syscall, cmd, message } = error as SystemError;
  if (cmd !== undefined) return `the server's program '${basename(cmd.split(" ", 1)[0]!)}' failed (${code})`;
  // "ENOENT: no such file or directory, open '/srv/…'"
  if (syscall !== undefined)
    return /^(E[A-Z0-9]+: [^,]+),/.exec(message)?.[1] ?? `${code} (${syscall.split(" ", 1)[0]})`;
  return withoutPlaces(message);
}
