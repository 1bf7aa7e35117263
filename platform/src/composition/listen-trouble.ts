/** Says why the server cannot listen on an address, and what to do about it. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** Errors that are not about the address are passed on unchanged. */
export function listenTrouble(error: unknown, { host, port }: { host: string; port: number }, flags = "--"): unknown {
  const say = (text: string) => new Error(text, { cause: error });
  switch ((error as NodeJS.ErrnoException).code) {
    case "EADDRINUSE":
      return say(
        `port ${port} of ${host} is taken by ${holderOf(port)}. Stop that, or choose another port with ${flags}port.`,
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return say(
        `${host} is no address of this machine. Choose one that is with ${flags}host, such as 127.0.0.1 or 0.0.0.0.`,
      );
    case "EACCES":
      return say(`port ${port} may not be opened by this user. Choose one from 1024 on with ${flags}port.`);
    default:
      return error;
  }
}

/** The program that listens on a port, as far as this user may see it. */
function holderOf(port: number): string {
  const sockets = new Set(["tcp", "tcp6"].flatMap((table) => listenersIn(linesOf(`/proc/net/${table}`), port)));
  for (const pid of namesIn("/proc").filter((name) => /^\d+$/.test(name)))
    for (const fd of namesIn(`/proc/${pid}/fd`))
      if (sockets.has(linkOf(`/proc/${pid}/fd/${fd}`))) return `process ${pid} (${programOf(pid)})`;
  return "another program";
}

/** Uses the name of its file, because programs can rename themselves, and Node shows up as MainThread. */
const programOf = (pid: string) => basename(linkOf(`/proc/${pid}/exe`)) || "unnamed";

const LISTENING = "0A";

/** Returns the sockets in the form in which descriptor links name them: `socket:[4711]`. */
function listenersIn(table: readonly string[], port: number): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const rows = table.map((line) => line.trim().split(/\s+/));
  return rows.filter((row) => row[1]?.endsWith(end) && row[3] === LISTENING).map((row) => `socket:[${row[9]}]`);
}

/** Reading fails if the process is gone or belongs to another user. Then the default is returned. */
function orElse<T>(read: () => T, nothing: T): T {
  try {
    return read();
  } catch {
    return nothing;
  }
}

const linesOf = (file: string) => orElse(() => readFileSync(file, "utf8").split("\n"), []);
const namesIn = (folder: string) => orElse(() => readdirSync(folder), []);
const linkOf = (file: string) => orElse(() => readlinkSync(file), "");
