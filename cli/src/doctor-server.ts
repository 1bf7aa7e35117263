/** What `millrace doctor` says about the settings of the server on this machine: their values, its database and its ports. */
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { parseEnv } from "node:util";
import { settingsIn, unreadVariables } from "@millrace/platform/composition/installation.ts";
import { listenTrouble } from "@millrace/platform/composition/listen-trouble.ts";
import { lookAtDatabase } from "@millrace/platform/composition/look-at-database.ts";
import { announced } from "@millrace/platform/composition/server-address.ts";
import type { Clock } from "@millrace/platform/kernel/clock.ts";
import { type Finding, fail, ok, warn } from "@millrace/platform/kernel/finding.ts";
import { DEFAULT_DATA_FOLDER } from "@millrace/platform/settings/data-folder.ts";
import type { Settings } from "@millrace/platform/settings/settings.ts";

export type Variables = Record<string, string | undefined>;

/** Where the Debian package keeps the settings of the service, and its data. */
const SERVICE_FILE = "/etc/millrace/millrace.env";
const SERVICE_DATA = "/var/lib/millrace";

/** The variables of the server on the folder: those of this shell, and those of the service if the folder is the service's. */
export async function serverVariables(
  env: Variables,
  file = SERVICE_FILE,
): Promise<{ variables: Variables; from?: string }> {
  // Only root and the service's user may read it. Nobody else looks after the service.
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return { variables: env };
  const service = parseEnv(text);
  const { MILLRACE_DATA: data = SERVICE_DATA } = service;
  if ((env.MILLRACE_DATA || data) !== data) return { variables: env };
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value));
  return { variables: { ...service, MILLRACE_DATA: data, ...given }, from: file };
}

const AGAIN = "Then start the server again.";

export async function settings(variables: Variables, from = "this shell"): Promise<Finding> {
  const set = Object.keys(variables).filter((name) => name.startsWith("MILLRACE_"));
  try {
    settingsIn(variables);
    const unknown = await unreadVariables(variables);
    if (unknown !== undefined) return warn(unknown, `Correct or remove them in ${from}.`);
  } catch (error) {
    return fail((error as Error).message, `Correct it in ${from}. ${AGAIN}`);
  }
  return ok(`${set.length} are set, by ${from}`);
}

/** A setting that is wrong is told by the check of settings. */
function readable(variables: Variables): Settings | undefined {
  try {
    return settingsIn(variables);
  } catch {
    return undefined;
  }
}

const UNREAD = warn("not looked at, because the settings cannot be read", "Correct the settings first.");

export async function database(variables: Variables, clock: Clock): Promise<Finding> {
  const read = readable(variables);
  return read ? lookAtDatabase(read, clock) : UNREAD;
}

export async function ports(variables: Variables): Promise<Finding> {
  const own = await announced(variables.MILLRACE_DATA || DEFAULT_DATA_FOLDER);
  if (own) return ok(`this folder's server listens at ${own.url}`);
  const read = readable(variables);
  if (!read) return UNREAD;
  const { host, port, tlsCert, tlsHost, tlsPort } = read;
  const wanted = [
    { host, port, flags: "--" },
    ...(tlsCert === undefined ? [] : [{ host: tlsHost, port: tlsPort, flags: "--tls-" }]),
  ];
  for (const { flags, ...place } of wanted) {
    const trouble = await listening(place);
    if (trouble === undefined) continue;
    return warn((listenTrouble(trouble, place, flags) as Error).message, `Or stop what uses it. ${AGAIN}`);
  }
  return ok(`${wanted.map((place) => place.port).join(" and ")} ${wanted.length > 1 ? "are" : "is"} free`);
}

async function listening(place: { host: string; port: number }): Promise<Error | undefined> {
  const probe = createServer();
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  probe.once("error", resolve);
  probe.listen(place, () => probe.close(() => resolve(undefined)));
  return promise;
}
