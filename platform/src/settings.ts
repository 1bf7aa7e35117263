/** Every setting of the server, as data: its flag, its variable, its default and what it does. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";

interface Setting {
  flag: string;
  variable: string;
  /** What the value stands for in the help. */
  value: string;
  default?: string;
  about: string;
}

export const settingTable = {
  port: { flag: "port", variable: "MILLRACE_PORT", value: "P", default: "7420", about: "port to listen on" },
  host: {
    flag: "host",
    variable: "MILLRACE_HOST",
    value: "ADDRESS",
    default: "127.0.0.1",
    about: "address to listen on",
  },
  data: {
    flag: "data",
    variable: "MILLRACE_DATA",
    value: "DIR",
    default: join(homedir(), ".millrace"),
    about: "folder that holds everything",
  },
  databaseUrl: {
    flag: "database-url",
    variable: "MILLRACE_DATABASE_URL",
    value: "URL",
    about: "postgres://… keeps store and queue there instead of in the data folder",
  },
  apiKey: {
    flag: "",
    variable: "MILLRACE_API_KEY",
    value: "KEY",
    about: "the owner's key; without it one is made at the first start",
  },
  masterKey: {
    flag: "",
    variable: "MILLRACE_MASTER_KEY",
    value: "BASE64",
    about: "master key for secrets, newest first, comma separated",
  },
  masterKeyCommand: {
    flag: "",
    variable: "MILLRACE_MASTER_KEY_COMMAND",
    value: "COMMAND",
    about: "command that prints the master key",
  },
  rateLimits: {
    flag: "rate-limits",
    variable: "MILLRACE_RATE_LIMITS",
    value: "M,H,D",
    default: "600,18000,200000",
    about: "requests per user a minute, an hour and a day, or 'off'",
  },
  publicUrl: {
    flag: "public-url",
    variable: "MILLRACE_PUBLIC_URL",
    value: "URL",
    about: "what URLs in answers begin with; default: the listening address",
  },
  workerUrl: {
    flag: "worker-url",
    variable: "MILLRACE_WORKER_URL",
    value: "URL",
    about: "where workers reach this server; default: the public URL",
  },
  stream: {
    flag: "stream",
    variable: "MILLRACE_STREAM",
    value: "FORM",
    default: "array",
    about: "what /stream answers when the request does not say: array or object",
  },
  webhookPrivate: {
    flag: "webhook-private",
    variable: "MILLRACE_WEBHOOK_PRIVATE",
    value: "allow",
    about: "'allow' lets webhooks reach private addresses",
  },
  webhookSecret: { flag: "", variable: "MILLRACE_WEBHOOK_SECRET", value: "TEXT", about: "signs webhooks when set" },
  logFileMb: {
    flag: "log-file-mb",
    variable: "MILLRACE_LOG_FILE_MB",
    value: "MB",
    default: "10",
    about: "size at which a log file of a worker is closed and the next one begun",
  },
  logFiles: {
    flag: "log-files",
    variable: "MILLRACE_LOG_FILES",
    value: "N",
    default: "5",
    about: "log files kept for each worker; beyond it the oldest goes",
  },
  logDays: {
    flag: "log-days",
    variable: "MILLRACE_LOG_DAYS",
    value: "DAYS",
    default: "7",
    about: "how long the log of a worker that has ended is kept",
  },
  logLevel: {
    flag: "log-level",
    variable: "MILLRACE_LOG_LEVEL",
    value: "LEVEL",
    default: "info",
    about: "debug, info, warn, error or silent",
  },
} as const satisfies Record<string, Setting>;

export type Settings = {
  port: number;
  host: string;
  data: string;
  databaseUrl: string | undefined;
  apiKey: string | undefined;
  masterKey: string | undefined;
  masterKeyCommand: string | undefined;
  rateLimits: string;
  publicUrl: string | undefined;
  workerUrl: string | undefined;
  stream: "array" | "object";
  webhookPrivate: string | undefined;
  webhookSecret: string | undefined;
  logFileMb: number;
  logFiles: number;
  logDays: number;
  logLevel: string;
};

/** Flags win over variables, variables over defaults. An empty variable counts as absent. */
export function settingsFrom(
  env: Record<string, string | undefined>,
  flags: Record<string, string | undefined> = {},
): Settings {
  const read = (name: keyof typeof settingTable) => {
    const setting: Setting = settingTable[name];
    return flags[name] ?? (env[setting.variable] || undefined) ?? setting.default;
  };
  const number = (name: keyof typeof settingTable, least: number, most: number) =>
    integerIn(settingTable[name].variable, read(name)!, least, most);
  const port = Number(read("port"));
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`the port must be a number from 0 to 65535, not '${read("port")}'`);
  return {
    port,
    host: read("host")!,
    data: resolve(read("data")!),
    databaseUrl: read("databaseUrl"),
    apiKey: read("apiKey"),
    masterKey: read("masterKey"),
    masterKeyCommand: read("masterKeyCommand"),
    rateLimits: read("rateLimits")!,
    publicUrl: read("publicUrl"),
    workerUrl: read("workerUrl"),
    stream: oneOf("MILLRACE_STREAM", read("stream")!, ["array", "object"]),
    webhookPrivate: read("webhookPrivate"),
    webhookSecret: read("webhookSecret"),
    logFileMb: number("logFileMb", 1, 1024),
    logFiles: number("logFiles", 1, 1000),
    logDays: number("logDays", 1, 3650),
    logLevel: read("logLevel")!,
  };
}

function integerIn(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw new Error(`${name} must be a whole number from ${least} to ${most}, not '${text}'`);
  return value;
}

function oneOf<T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text);
  if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(", ")}, not '${text}'`);
  return found;
}
