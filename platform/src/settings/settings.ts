/** The settings of a process: what flags and variables say of each, read, or refused with its name and what it must be. */
import { type Setting, settingTable } from "./setting-table.ts";

type Table = typeof settingTable;
type Value<S> = S extends { read(text: string): infer T }
  ? T | (S extends { default: string } ? never : undefined)
  : never;

/** What the settings say, read. One without a default is undefined where nobody sets it. */
export type Settings = { [Name in keyof Table]: Value<Table[Name]> };

const settings: [name: string, setting: Setting][] = Object.entries(settingTable);

/** In the order in which people read of them. */
export const allSettings: readonly Setting[] = Object.values(settingTable);

/** Variables for a program that this process starts: whatever it needs, but none of the secrets of this one. */
export function withoutSecrets(env: Record<string, string | undefined>): Record<string, string | undefined> {
  const secret = new Set(allSettings.filter(({ secret }) => secret).map(({ variable }) => variable));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}

/** Flags win over variables, variables over defaults. An empty variable counts as absent. */
export function settingsFrom(
  env: Record<string, string | undefined>,
  flags: Record<string, string | undefined> = {},
): Settings {
  const read = settings.map(([name, setting]) => {
    const flag = setting.flag && flags[name];
    const given = flag ?? (env[setting.variable] || undefined) ?? setting.default;
    const source = flag === undefined ? setting.variable : `--${setting.flag}`;
    return [name, given === undefined ? undefined : readBy(setting, source, given)];
  });
  return Object.fromEntries(read) as Settings;
}

/** `source` is the flag or the variable that the text came by, which is what has to be changed. */
function readBy({ secret, read }: Setting, source: string, given: string): unknown {
  try {
    return read(given);
  } catch (error) {
    const why = `${source} ${(error as Error).message}`;
    throw new Error(secret ? why : `${why}, not '${given}'`, { cause: error });
  }
}
