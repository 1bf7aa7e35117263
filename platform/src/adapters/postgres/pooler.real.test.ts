/** PostgreSQL is used itself, or through a PgBouncer that keeps connections for their clients. Any other is refused with the reason. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { freshDatabase } from "../../../tests/database.ts";
import { startServer, temporaryFolder } from "../../../tests/process.ts";
import { realRandom } from "../../kernel/random.ts";
import { refusePooling } from "./pooler.ts";

const PROGRAM = "/usr/sbin/pgbouncer";
const NOBODY = 65_534;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  server.on("error", () => {});
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

/** A PgBouncer in front of the database. */
async function startBouncer(database: string, mode: "session" | "transaction") {
  const folder = await temporaryFolder();
  const { hostname, port, username, password, pathname } = new URL(database);
  const own = await freePort();
  const settings = `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder.path, "users")}
pool_mode = ${mode}
default_pool_size = 60
`;
  await writeFile(join(folder.path, "users"), `"${username}" "${password}"\n`);
  await writeFile(join(folder.path, "bouncer.ini"), settings);
  await chmod(folder.path, 0o755);
  for (const name of ["users", "bouncer.ini"]) await chown(join(folder.path, name), NOBODY, NOBODY);
  // It does not run as root.
  const child: ChildProcess = spawn(PROGRAM, ["-u", "nobody", join(folder.path, "bouncer.ini")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.on("error", () => {});
  const exited = once(child, "exit");
  for await (const line of createInterface(child.stderr!)) if (line.includes("process up")) break;
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${own}${pathname}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
      await folder[Symbol.asyncDispose]();
    },
  };
}

test("PostgreSQL itself is used", async () => {
  await using database = await freshDatabase();
  await refusePooling(database.url);
});

// Debian's package pgbouncer has it. Without it, there is nothing to test with.
const withBouncer = test.skipIf(!existsSync(PROGRAM) || process.getuid?.() !== 0);

withBouncer("a PgBouncer that pools transactions is refused, and says which setting to change", async () => {
  await using database = await freshDatabase();
  await using bouncer = await startBouncer(database.url, "transaction");
  await expect(refusePooling(bouncer.url)).rejects.toThrow(
    /gives each transaction another connection.*pool_mode = session/,
  );
});

withBouncer("a server runs behind a PgBouncer that pools sessions", async () => {
  await using database = await freshDatabase();
  await using bouncer = await startBouncer(database.url, "session");
  await refusePooling(bouncer.url);
  await using folder = await temporaryFolder();
  const key = "a-key-of-sixteen-or-more";
  const MILLRACE_MASTER_KEY = Buffer.from(realRandom.bytes(32)).toString("base64");
  const env = { MILLRACE_DATABASE_URL: bouncer.url, MILLRACE_API_KEY: key, MILLRACE_MASTER_KEY };
  await using server = await startServer(folder.path, { env });
  const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const { id } = (await server.call("POST", "/v2/serverless", { key, body })).json;
  const { json } = await server.call("POST", `/v2/${id}/run`, { key, body: { input: {} } });
  expect((await server.call("GET", `/v2/${id}/status/${json.id}`, { key })).json.status).toBe("IN_QUEUE");
  expect(await server.end("SIGTERM")).toBe(0);
});
