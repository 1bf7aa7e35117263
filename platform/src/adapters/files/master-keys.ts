/** Where master keys come from: the environment, a command, or a file that only its owner can read. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { keepPrivately, readPrivate, replacePrivately } from "../../kernel/private-file.ts";
import type { Random } from "../../kernel/random.ts";

const KEY_BYTES = 32;
const COMMAND = "MILLRACE_MASTER_KEY_COMMAND";
/** A command that asks for a password would wait for ever. */
const COMMAND_MS = 60_000;
const MOST_WORDS = 200;

export interface MasterKeySource {
  /** The keys in base64, newest first, separated by commas. */
  text?: string;
  /** A command that prints keys in the same form. */
  command?: string;
  /** The environment of the command. */
  environment?: Record<string, string | undefined>;
  /** A file with one key per line, newest first. It is created at the first start. */
  file: string;
}

export async function loadMasterKeys(source: MasterKeySource, random: Random): Promise<Uint8Array[]> {
  if (source.text) return parse(source.text, "MILLRACE_MASTER_KEY");
  if (source.command)
    return parse(await output(source.command, source.environment), "the output of MILLRACE_MASTER_KEY_COMMAND");
  return parse(await readOrCreate(source.file, random), source.file);
}

/** Puts a new key in front of the file's keys. Values that the old keys sealed stay readable. */
export async function addMasterKey(file: string, random: Random): Promise<void> {
  await replacePrivately(file, `${newKey(random)}\n${await readOrCreate(file, random)}`);
}

/** Keeps only the newest key. Call it once no value is sealed with an older one. */
export async function dropOldMasterKeys(file: string): Promise<void> {
  const newest = (await readPrivate(file)).split("\n", 1)[0]!;
  await replacePrivately(file, `${newest}\n`);
}

function parse(text: string, origin: string): Uint8Array[] {
  const keys = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((part) => Buffer.from(part, "base64"));
  if (keys.length === 0 || keys.some((key) => key.length !== KEY_BYTES)) {
    throw new Error(`${origin} must hold ${KEY_BYTES}-byte keys in base64 (make one with: openssl rand -base64 32)`);
  }
  return keys;
}

/** The command is passed in a variable. On a command line, every user of the machine could read it. */
async function output(command: string, environment: MasterKeySource["environment"] = {}): Promise<string> {
  const env = { ...environment, [COMMAND]: command };
  try {
    const args = ["-c", `eval "unset ${COMMAND}; $${COMMAND}"`];
    const { stdout } = await promisify(execFile)("/bin/sh", args, { env, timeout: COMMAND_MS });
    return stdout;
  } catch (error) {
    throw new Error(`the command of ${COMMAND} ${commandTrouble(error)}: run it by hand as the server's user`, {
      cause: error,
    });
  }
}

/** What a failed command printed to standard output may be a key, and is in no message. */
function commandTrouble(error: unknown): string {
  const { code, killed, stderr = "" } = error as { code?: unknown; killed?: boolean; stderr?: string };
  if (killed) return `did not end within ${COMMAND_MS / 1000} seconds`;
  const lastWords = stderr.trim().split("\n").at(-1)!.slice(0, MOST_WORDS);
  return `ended with status ${code}${lastWords && `, saying '${lastWords}'`}`;
}

/** A sealed value must never outlive its key, so the key is on disk before any value is sealed. */
async function readOrCreate(file: string, random: Random): Promise<string> {
  await keepPrivately(file, `${newKey(random)}\n`);
  return readPrivate(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EACCES") throw error;
    throw new Error(`${file} may not be read by this user: give it to the user with 'chown'`, { cause: error });
  });
}

const newKey = (random: Random) => Buffer.from(random.bytes(KEY_BYTES)).toString("base64");
