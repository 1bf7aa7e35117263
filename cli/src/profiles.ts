/** Which server a verb talks to, and with which key: flags, variables, the profiles of `millrace login`, or the server of this machine. */
import { mkdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { announced, ownerKeyFile } from "@millrace/platform/composition/server-address.ts";
import { readPrivate, replacePrivately } from "@millrace/platform/kernel/private-file.ts";
import { DEFAULT_DATA_FOLDER } from "@millrace/platform/settings/data-folder.ts";
import type { Command } from "commander";
import { Failure, wrongUse } from "./failure.ts";
import type { Environment } from "./shell.ts";

export interface Profile {
  url: string;
  key: string;
}

export interface Config {
  /** The name of the profile that verbs use. */
  current?: string | undefined;
  profiles: Record<string, Profile>;
}

/** A server, and the key for it. */
export interface Target extends Profile {
  /** Where the key comes from, for messages, such as `profile 'work'`. */
  from: string;
}

export interface TargetOptions {
  profile?: string;
  url?: string;
  keyFile?: string;
}

export const DEFAULT_URL = "http://127.0.0.1:7420";

/** Every user of the machine can read a command line, so no flag takes a key. */
export function withTarget(command: Command): Command {
  return command
    .option("--profile <name>", "profile of 'millrace login' (or MILLRACE_PROFILE)")
    .option("--url <url>", "where the server is (or MILLRACE_URL)")
    .option("--key-file <file>", "file with the API key (or MILLRACE_API_KEY)");
}

const configFile = ({ XDG_CONFIG_HOME, HOME }: Environment) =>
  join(XDG_CONFIG_HOME || join(HOME || homedir(), ".config"), "millrace", "config.json");

export async function readConfig(env: Environment): Promise<Config> {
  const file = configFile(env);
  const text = await readPrivate(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw new Failure(`${file} cannot be read (${error.code}). Give yourself the right to read it.`);
  });
  if (text === undefined) return { profiles: {} };
  try {
    const { current, profiles } = JSON.parse(text) as Config;
    if (typeof profiles !== "object" || profiles === null) throw new Error("it has no profiles");
    return { current, profiles };
  } catch (error) {
    throw new Failure(
      `${file} is damaged: ${(error as Error).message}. Delete it, then run 'millrace login' for each server again.`,
    );
  }
}

/** Only its owner may read the file, because it holds keys. */
export async function writeConfig(env: Environment, config: Config): Promise<void> {
  const file = configFile(env);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replacePrivately(file, `${JSON.stringify(config, null, 2)}\n`);
}

/** Cuts what a person may have put behind the address of a server. */
export function baseUrl(text: string): string {
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  if (!url || url.username || url.search)
    throw wrongUse(`'${text}' is not the address of a server, such as https://gpu.example.com`);
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** The server that runs on this machine's data folder, if one does. */
export async function localServer({ MILLRACE_DATA }: Environment): Promise<{ url: string; key?: string } | undefined> {
  const data = MILLRACE_DATA || DEFAULT_DATA_FOLDER;
  const here = await announced(data);
  if (!here) return undefined;
  const key = await readPrivate(ownerKeyFile({ data })).catch(() => undefined);
  return { url: baseUrl(here.url), ...(key && { key: key.trim() }) };
}

/**
 * Finds the server and the key. A profile's key goes to the server of the profile alone, and the key of this machine's server to that server
 * alone.
 */
export async function findTarget(options: TargetOptions, env: Environment): Promise<Target> {
  const config = await readConfig(env);
  const named = options.profile ?? (env.MILLRACE_PROFILE || undefined);
  const chosen = named === undefined ? undefined : profileIn(config, named);
  const current = config.current === undefined ? undefined : config.profiles[config.current];
  const local = await localIfNeeded();
  // A server in a container leaves no file here, and is where everybody expects it.
  const usual = options.keyFile || env.MILLRACE_API_KEY ? DEFAULT_URL : undefined;
  const url = options.url ?? chosen?.url ?? (env.MILLRACE_URL || undefined) ?? current?.url ?? local?.url ?? usual;
  if (url === undefined) throw noServer();
  const base = baseUrl(url);
  const { key, from } = await keyFor(base, { options, env, config, chosen: named, local });
  return { url: base, key: checkedKey(key, from), from };

  function localIfNeeded() {
    const hasKey = chosen || options.keyFile || env.MILLRACE_API_KEY;
    return hasKey && (options.url || chosen || env.MILLRACE_URL) ? undefined : localServer(env);
  }
}

/** A key goes into a header, so that it is one word of visible characters. */
export function checkedKey(key: string, from: string): string {
  if (/^[\x21-\x7e]{1,512}$/.test(key)) return key;
  throw wrongUse(`what ${from} has is no API key: it must be one word of visible characters`);
}

function profileIn({ profiles }: Config, name: string): Profile {
  const profile = profiles[name];
  if (profile) return profile;
  const known = Object.keys(profiles);
  const others = known.length > 0 ? `Known are ${known.join(", ")}.` : "There are none yet.";
  throw wrongUse(`there is no profile '${name}'. ${others} 'millrace login URL --name ${name}' makes it.`);
}

interface Known {
  options: TargetOptions;
  env: Environment;
  config: Config;
  chosen: string | undefined;
  local: { url: string; key?: string } | undefined;
}

async function keyFor(url: string, { options, env, config, chosen, local }: Known): Promise<Omit<Target, "url">> {
  if (options.keyFile !== undefined) return { key: await keyIn(options.keyFile), from: options.keyFile };
  const own = chosen ?? nameOf(config, url);
  const ofProfile = own === undefined ? undefined : config.profiles[own]!;
  if (chosen !== undefined && ofProfile?.url === url) return { key: ofProfile.key, from: `profile '${own}'` };
  if (env.MILLRACE_API_KEY) return { key: env.MILLRACE_API_KEY, from: "MILLRACE_API_KEY" };
  if (ofProfile?.url === url) return { key: ofProfile.key, from: `profile '${own}'` };
  if (local?.key !== undefined && local.url === url)
    return { key: local.key, from: "the owner of this machine's server" };
  throw wrongUse(
    `there is no API key for ${url}: run 'millrace login ${url}', set MILLRACE_API_KEY, or name a file that holds one by --key-file`,
  );
}

/** Of several profiles for the same server, the current one is taken first. */
function nameOf({ current, profiles }: Config, url: string): string | undefined {
  const names = Object.keys(profiles).filter((name) => profiles[name]!.url === url);
  return names.find((name) => name === current) ?? names[0];
}

/** The key in a file that a flag names. */
export async function keyIn(file: string, flag = "--key-file"): Promise<string> {
  const text = await readPrivate(file).catch((error: NodeJS.ErrnoException) => {
    throw wrongUse(`${file}, named by ${flag}, cannot be read (${error.code}): name a file that you may read`);
  });
  if (text.trim() === "") throw wrongUse(`${file}, named by ${flag}, is empty: write the API key into it`);
  return text.trim();
}

const noServer = () =>
  new Failure(
    "no server is known: start one here with 'millrace serve', or run 'millrace login URL' for one elsewhere. " +
      "MILLRACE_URL and --url name one too.",
  );
