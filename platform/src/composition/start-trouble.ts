/** Says in one sentence why an installation's data cannot be opened and what to do, for the person who starts a server or a command. */
import { isProblem } from "../kernel/problem.ts";

const say = (text: string, cause: unknown) => new Error(text, { cause });

const ANOTHER_FOLDER = "or name another folder with --data (MILLRACE_DATA)";

/** Errors that are not about the folder are passed on unchanged. */
export function folderTrouble(error: unknown, data: string): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case "EEXIST":
      return say(`the data folder ${data} is a file: move it away, ${ANOTHER_FOLDER}.`, error);
    case "ENOTDIR":
      return say(
        `the data folder ${data} cannot be made, since a part of its path is a file: name another one.`,
        error,
      );
    case "ENOENT":
      return say(`the data folder ${data} cannot be made: no folder can be made there, so name another one.`, error);
    case "EACCES":
    case "EPERM":
      return say(
        `the data folder ${data} may not be written by this user: give it to the user with 'chown', ${ANOTHER_FOLDER}.`,
        error,
      );
    case "EROFS":
      return say(
        `the data folder ${data} is on a file system that is mounted read-only: remount it, ${ANOTHER_FOLDER}.`,
        error,
      );
    case "ENOSPC":
    case "EDQUOT":
      return say(
        `the data folder ${data} cannot be made, since the disk is full: make room, ${ANOTHER_FOLDER}.`,
        error,
      );
    default:
      return error;
  }
}

/** SQLite's result codes: `PERM`, `READONLY`, `IOERR`, `CORRUPT`, `CANTOPEN`, `NOTADB`. Only the lower byte matters. */
const SQLITE: Record<number, string> = {
  3: "this user may not open it: give it to the user with 'chown'",
  8: "this user may not write it: give it to the user with 'chown'",
  10: "the disk failed to read or write it: the system's log says what is wrong with the disk",
  11: "it is damaged: restore it from a backup, or rescue what can be read with 'sqlite3 FILE .recover'",
  14: "it is a folder, or this user may not open it: look at what is there, and give it to the user with 'chown'",
  26: "it is no SQLite database: move it away if it is not Millrace's, or restore it from a backup",
};

/** Errors that are not from SQLite are passed on unchanged. */
export function sqliteTrouble(error: unknown, file: string): unknown {
  const { errcode } = error as { errcode?: unknown };
  const why = typeof errcode === "number" ? SQLITE[errcode & 0xff] : undefined;
  return why === undefined ? error : say(`${file} cannot be opened: ${why.replace("FILE", file)}.`, error);
}

const CHECK_ADDRESS = "check that PostgreSQL runs there, and the address in MILLRACE_DATABASE_URL";

const HALF_RESTORED =
  "it has some of Millrace's tables and lacks others, as after a restore that broke off: restore into an empty database";

const ENDED = "it ended the connection, as when it restarts: start Millrace again when it is up";

/** Keyed by error codes of the system and of PostgreSQL. */
const POSTGRES: Record<string, string> = {
  ECONNREFUSED: `nothing listens there: ${CHECK_ADDRESS}`,
  ENOTFOUND: `there is no host of that name: ${CHECK_ADDRESS}`,
  EAI_AGAIN: `the name of the host could not be looked up: check the network, and ${CHECK_ADDRESS}`,
  ENOENT: `there is no such socket: ${CHECK_ADDRESS}`,
  "28P01": "it refuses the user or the password: check both in MILLRACE_DATABASE_URL",
  "28000": "it does not let this user in: check the user in MILLRACE_DATABASE_URL, and pg_hba.conf",
  "3D000": "it has no such database: make it with 'createdb', or check the name in MILLRACE_DATABASE_URL",
  "42501": "the user lacks a right: make it the owner of the database",
  "53300": "it has no connection left: raise max_connections, or end what holds the others",
  "42P01": HALF_RESTORED,
  "42P07": HALF_RESTORED,
  ECONNRESET: ENDED,
  "57P01": ENDED,
  "57P03": "it is starting or stopping: start Millrace again when it is up",
};

const CHECK_TLS =
  "sslmode and sslrootcert in MILLRACE_DATABASE_URL say what is asked of its certificate, as docs/operating.md shows";
/** Such as "timeout exceeded when trying to connect", from PgBouncer with too small a pool. */
const IS_LATE = /time-?out/i;
const CHECK_ROOM =
  "check that PostgreSQL runs there, and that it, and a pooler in front of it, have 32 connections for each server";
/** The driver has no code for a connection that the other side closes in the middle of a query. */
const IS_ENDED = /^Connection terminated/;
/** Such as "The server does not support SSL connections" and "self-signed certificate". */
const IS_OF_TLS = /\b(SSL|TLS|certificate)\b/;

/** The message leaves out the password. Other errors are passed on unchanged. */
export function postgresTrouble(error: unknown, url: string): unknown {
  const cause = (error as { cause?: unknown }).cause ?? error;
  const code = String((cause as { code?: unknown }).code ?? "");
  const why = POSTGRES[code] ?? connectionTrouble(error, cause, url);
  return why === undefined ? error : say(`PostgreSQL at ${placeIn(url)} cannot be used: ${why}.`, error);
}

function connectionTrouble(error: unknown, cause: unknown, url: string): string | undefined {
  const said = wordsOf(cause, url);
  if (IS_OF_TLS.test(said)) return `${said}: ${CHECK_TLS}`;
  if (IS_ENDED.test(said)) return ENDED;
  if (!isProblem(error, "unavailable")) return undefined;
  return `${said}: ${IS_LATE.test(said) ? CHECK_ROOM : CHECK_ADDRESS}`;
}

function wordsOf(cause: unknown, url: string): string {
  const { password } = new URL(url);
  const said = (cause as Error).message || "it cannot be reached";
  return password && said.includes(password) ? "it cannot be reached" : said;
}

function placeIn(url: string): string {
  const parsed = new URL(url);
  const host = parsed.host || parsed.searchParams.get("host") || "the local socket";
  return `${host}${parsed.pathname}${parsed.username ? ` as ${decodeURIComponent(parsed.username)}` : ""}`;
}
