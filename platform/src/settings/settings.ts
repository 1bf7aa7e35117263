/** The settings of a process, read from flags and variables. A wrong one is refused with its name and what it must be. */
import { type Setting, settingTable } from "./setting-table.ts";

type Table = typeof settingTable;
type Value<S> = S extends { read(text: string): infer T }
  ? T | (S extends { default: string } ? never : undefined)
  : never;

/** The parsed settings. A setting without a default is undefined if nobody sets it. */
export type Settings = { [Name in keyof Table]: Value<Table[Name]> };

const settings: [name: string, setting: Setting][] = Object.entries(settingTable);

/** The settings in the order in which the documents list them. */
export const allSettings: readonly Setting[] = Object.values(settingTable);

/** The variables for a program that this process starts, without this process's secrets. */
export function withoutSecrets(env: Record<string, string | undefined>): Record<string, string | undefined> {
  const secret = new Set(allSettings.filter(({ secret }) => secret).map(({ variable }) => variable));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !secret.has(name)));
}

/** Flags override variables, and variables override defaults. An empty variable counts as absent. */
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

/** A URL may hold a user and a password, which belong into no log. */
const withoutPassword = (given: string) => given.replace(/^(\w+:\/\/)[^/]*@/, "$1…@");

/** `source` is the flag or variable of the text, so that the message says what to change. */
function readBy({ secret, read }: Setting, source: string, given: string): unknown {
  try {
    return read(given);
  } catch (error) {
    const why = `${source} ${(error as Error).message}`;
    throw new Error(secret ? why : `${why}, not '${withoutPassword(given)}'`, { cause: error });
  }
}
