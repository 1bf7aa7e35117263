/** Tells whether what a service prints goes to systemd's journal, which a machine's administrators read and often send elsewhere. */
import { fstatSync } from "node:fs";
import type { Environment } from "./shell.ts";

const STDOUT = 1;

/** systemd names the stream. A program that a service starts has the variable too, but may print to another place. */
export function printsToJournal({ JOURNAL_STREAM: stream }: Environment): boolean {
  if (!stream) return false;
  const { dev, ino } = fstatSync(STDOUT);
  return stream === `${dev}:${ino}`;
}
