/** Parses the texts of settings. Errors are in words that follow the name of the setting. */
import { isAbsolute, resolve } from "node:path";
import { KEY_SHAPE } from "../kernel/ids.ts";

export const text = (given: string) => given;

export const folder = (given: string) => resolve(given);

export const whole = (least: number, most: number) => (given: string) => {
  const value = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
  if (!(value >= least && value <= most)) throw new Error(`must be a whole number from ${least} to ${most}`);
  return value;
};

export const oneOf =
  <const T extends string>(allowed: readonly T[]) =>
  (given: string): T => {
    const found = allowed.find((value) => value === given);
    if (found === undefined) throw new Error(`must be one of ${allowed.join(", ")}`);
    return found;
  };

/** An unescaped `#`, `/` or `?` ends the password early, and what follows would be read as something else. */
export function postgresUrl(given: string): string {
  const url = URL.parse(given);
  const isCutShort = url && (url.hash !== "" || url.pathname.includes("@") || /^\?[^=]*@/.test(url.search));
  if (!url || isCutShort || !/^postgres(ql)?:$/.test(url.protocol))
    throw new Error(
      "must be a URL such as postgres://user:password@host:5432/database; in the password write %23 for #, %2F for /, %3F for ? and %40 for @",
    );
  return given;
}

/** A URL to which paths are appended. */
export function address(given: string): string {
  const url = URL.parse(given);
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "")
    throw new Error("must be a URL such as https://millrace.example.com");
  return given.replace(/\/+$/, "");
}

/** A URL to which requests go. A user and a password in it would be refused with each request, and be in the log then. */
export function collector(given: string): string {
  const { username, password } = URL.parse(given) ?? {};
  if (username || password)
    throw new Error("must have no user and no password: MILLRACE_TRACES_HEADERS has what the collector wants to see");
  return address(given);
}

/** Requests go to paths at the root, so a path in this URL would be lost silently. */
export function origin(given: string): string {
  const url = URL.parse(given);
  if (!url || !/^https?:$/.test(url.protocol) || url.href !== `${url.origin}/`)
    throw new Error("must be a URL such as http://10.0.0.5:7420 without a path");
  return url.origin;
}

export function domain(given: string): string {
  const name = given.toLowerCase().replace(/^\*?\.|\.$/g, "");
  if (!/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(name)) throw new Error("must be a domain such as pods.example.com");
  return name;
}

export function apiKey(given: string): string {
  if (!KEY_SHAPE.test(given)) throw new Error("must have 16 or more visible ASCII characters");
  return given;
}

export function outputSizes(given: string): { program: number; machine: number } {
  const [program, machine, ...more] = given.split(",").map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : 0));
  if (!program || !machine || more.length > 0 || machine < program)
    throw new Error("must be two whole numbers such as 12,1024, the larger one last");
  return { program, machine };
}

const DAY_MS = 86_400_000;
const MOST_SESSION_DAYS = 365;

/** Days for a session of a person at most, and for one that nobody uses. */
export function sessionDays(given: string): { mostMs: number; idleMs: number } {
  const days = given.split(",").map((one) => (/^\s*\d{1,3}\s*$/.test(one) ? Number(one) : 0));
  const [most = 0, idle = 0] = days;
  if (days.length !== 2 || idle < 1 || idle > most || most > MOST_SESSION_DAYS)
    throw new Error(`must be two numbers of days from 1 to ${MOST_SESSION_DAYS}, such as 30,7, the larger one first`);
  return { mostMs: most * DAY_MS, idleMs: idle * DAY_MS };
}

export function folders(given: string): string[] {
  const all = given.split(":");
  if (!all.every((one) => isAbsolute(one))) throw new Error("must be absolute paths with colons between");
  return all;
}

/** A port, or whether to open one at all. */
export function portChoice(given: string): number | "auto" | "off" {
  if (given === "auto" || given === "off") return given;
  const port = /^\d{1,5}$/.test(given) ? Number(given) : Number.NaN;
  if (!(port <= 65_535)) throw new Error("must be auto, off, or a port from 0 to 65535");
  return port;
}

/** A name or an address, with a port if it differs from the one that the server listens on. */
export function hostAndPort(given: string): { host: string; port?: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:@/[\]]+))(?::(\d{1,5}))?$/.exec(given) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || host.startsWith("-") || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535)
    throw new Error("must be a host such as ssh.example.com, or ssh.example.com:22");
  return { host, ...(port !== undefined && { port: Number(port) }) };
}

export function syslog(given: string): { protocol: "udp" | "tcp"; host: string; port: number } {
  const [, protocol, at = ""] = /^(udp|tcp):\/\/(.+)$/.exec(given) ?? [];
  if (protocol === undefined) throw new Error("must be an address such as udp://10.0.0.9:514 or tcp://10.0.0.9:601");
  return { protocol: protocol as "udp" | "tcp", ...listener(at) };
}

export function share(given: string): number {
  const value = /^(?:0|1|0?\.\d{1,6}|1\.0+)$/.test(given) ? Number(given) : Number.NaN;
  if (!(value >= 0 && value <= 1)) throw new Error("must be a number from 0 to 1 such as 0.05");
  return value;
}

/** Names and values with `=` between them, as OpenTelemetry has them. */
export function headers(given: string): Record<string, string> {
  const pairs = given.split(",").map((pair) => /^\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*([\x20-\x7e]*?)\s*$/.exec(pair));
  return Object.fromEntries(
    pairs.map((pair) => {
      if (!pair) throw new Error("must be headers such as authorization=Bearer abc, comma separated");
      return [pair[1]!, pair[2]!];
    }),
  );
}

/** Where to listen. An address of IPv6 stands in brackets. */
export function listener(given: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):(\d{1,5})$/.exec(given) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535)
    throw new Error("must be an address and a port such as 127.0.0.1:9464");
  return { host, port: Number(port) };
}

/** A range of two ports, both included. The system's own ports are not allowed. */
export function portRange(given: string): { first: number; last: number } {
  const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(given)?.map(Number) ?? [];
  if (!first || !last || first < 1024 || last > 65_535 || first >= last)
    throw new Error("must be a range of ports from 1024 on such as 20000-29999");
  return { first, last };
}
