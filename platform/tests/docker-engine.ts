/** A real Docker engine for tests: started, killed, started again, and removed without a trace. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

const CONFORMANCE_PROGRAM = new URL("../src/ports/compute/conformance-program.mjs", import.meta.url);
const WORKER_LIBRARY = new URL("../../worker/src", import.meta.url);
const SMALL_WORKER = new URL("fixtures/small-worker.mjs", import.meta.url);

const run = promisify(execFile);

export interface GivenEngine {
  socket: string;
  /** Runs the command line tool on this engine. */
  docker(...args: string[]): Promise<string>;
}

export interface DockerEngine extends GivenEngine, AsyncDisposable {
  /** Kills the engine as a crash would. Its containers go on, as far as they can without it. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** An engine that already runs, such as Podman. */
export const givenEngine = (socket: string): GivenEngine => ({
  socket,
  docker: async (...args) => (await run("docker", ["-H", `unix://${socket}`, ...args])).stdout.trim(),
});

/** Its networks and processes would be the machine's own, so `scripts/test-docker.sh` gives the tests their own namespaces. */
const IN_NAMESPACE = "MILLRACE_TEST_NAMESPACE";

interface EngineOptions {
  /** Whether containers go on when the engine dies. */
  keepsContainers?: boolean;
  /** Without packet filters, and with addresses of its own. Two engines on one machine would otherwise undo each other's. */
  apart?: boolean;
}

export async function startEngine(options: EngineOptions = {}): Promise<DockerEngine> {
  if (process.env[IN_NAMESPACE] === undefined)
    throw new Error("Docker tests run in namespaces of their own: npm run test:docker [file]");
  const folder = await mkdtemp(join(tmpdir(), "millrace-docker-"));
  const socket = join(folder, "docker.sock");
  let engine: ChildProcess | undefined;
  const { docker } = givenEngine(socket);
  const kill = async () => {
    if (!engine || engine.exitCode !== null || engine.signalCode !== null) return;
    const ended = once(engine, "exit");
    engine.kill("SIGKILL");
    await ended;
  };
  const start = async () => {
    engine = spawnEngine(folder, socket, options);
    await readUntilReady(engine);
  };
  await start();
  return {
    socket,
    kill,
    start,
    docker,
    async [Symbol.asyncDispose]() {
      const left = (await docker("ps", "--all", "--quiet")).split("\n").filter((id) => id !== "");
      if (left.length > 0) await docker("rm", "--force", "--volumes", ...left);
      const ended = once(engine!, "exit");
      engine!.kill("SIGTERM");
      await ended;
      await unmountAll(folder);
      await rm(folder, { recursive: true });
    },
  };
}

/** A killed engine leaves its mounts behind. The last mount is removed first. */
async function unmountAll(folder: string): Promise<void> {
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n").map((line) => line.split(" ")[4] ?? "");
  for (const mount of mounts.reverse()) if (mount.startsWith(folder)) await run("umount", ["--lazy", mount]);
}

function spawnEngine(folder: string, socket: string, { keepsContainers, apart }: EngineOptions): ChildProcess {
  const places = ["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")];
  const files = ["--pidfile", join(folder, "pid"), "--host", `unix://${socket}`];
  // The engine has no default network, only the ones that are made for it.
  const manner = ["--bridge", "none", ...(keepsContainers ? ["--live-restore"] : [])];
  const network = apart ? ["--iptables=false", "--default-address-pool", `base=${ownAddresses(folder)},size=24`] : [];
  return spawn("dockerd", [...places, ...files, ...manner, ...network], { stdio: ["ignore", "ignore", "pipe"] });
}

/** An engine that is started again gets the same addresses. */
function ownAddresses(folder: string): string {
  const [first, second] = createHash("sha256").update(folder).digest();
  return `10.${first}.${second! & 0xf0}.0/20`;
}

/** Reads everything that the engine writes, also later. A full pipe would stop it. */
function readUntilReady(engine: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    engine.stderr!.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-10_000);
      if (said.includes("API listen on")) resolve();
    });
    engine.once("exit", () => reject(new Error(`dockerd did not start: ${said}`)));
    engine.once("error", reject);
  });
}

/** Makes an image from this machine's files. */
export async function importImage(
  { docker }: GivenEngine,
  name: string,
  options: { node?: boolean } = {},
): Promise<void> {
  await using files = new AsyncDisposableStack();
  const folder = files.use(await imageFolder(options)).path;
  const archive = `${folder}.tar`;
  files.defer(() => rm(archive));
  await run("tar", ["-C", folder, "-cf", archive, "."]);
  await docker("import", "--change", 'ENTRYPOINT ["/bin/node"]', archive, name);
}

/** A folder with the contents of an image: BusyBox, and Node with its libraries unless a shell is enough. It is removed with the object. */
export async function imageFolder({ node = true } = {}) {
  const path = await mkdtemp(join(tmpdir(), "millrace-image-"));
  await mkdir(join(path, "bin"));
  await cp(await realpath("/bin/busybox"), join(path, "bin/busybox"));
  for (const applet of ["sh", "sleep", "stty", "cat", "wget", "nc"])
    await symlink("busybox", join(path, "bin", applet));
  if (node) await addNode(path);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

async function addNode(folder: string): Promise<void> {
  await cp(process.execPath, join(folder, "bin/node"));
  for (const library of await librariesOf(process.execPath)) {
    await mkdir(join(folder, dirname(library)), { recursive: true });
    await cp(await realpath(library), join(folder, library));
  }
  await cp(CONFORMANCE_PROGRAM, join(folder, "conformance-program.mjs"));
  await cp(SMALL_WORKER, join(folder, "small-worker.mjs"));
  await cp(WORKER_LIBRARY, join(folder, "worker"), { recursive: true });
  const echo = 'import { start } from "/worker/main.ts";\nstart({ handler: ({ input }) => input });\n';
  await writeFile(join(folder, "echo-worker.ts"), echo);
}

async function librariesOf(program: string): Promise<string[]> {
  const { stdout } = await run("ldd", [program]);
  return stdout.match(/\/\S+(?= \()/g) ?? [];
}
