/** Changes the level of a running server's log to what a file of the data folder says. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "../kernel/log.ts";
import type { Settings } from "../settings/settings.ts";

const LEVELS: readonly string[] = ["debug", "info", "warn", "error", "silent"];

/** The level that a person wants for now. Without this file it is that of the settings. */
const LEVEL_FILE = "log-level";

export async function changeLevel(
  log: Log & { level: string },
  { data, logLevel }: Pick<Settings, "data" | "logLevel">,
): Promise<string> {
  const said = await readFile(join(data, LEVEL_FILE), "utf8").then(
    (text) => text.trim(),
    () => logLevel,
  );
  const level = LEVELS.includes(said) ? said : logLevel;
  const about = { before: log.level };
  // The line is written whichever of the two levels shows less.
  log.level = "info";
  if (level === said) log.info(about, `the level of the log is ${level} from now on`);
  else log.warn({ ...about, said: said.slice(0, 20) }, `${LEVEL_FILE} must hold one of ${LEVELS.join(", ")}`);
  log.level = level;
  return level;
}
