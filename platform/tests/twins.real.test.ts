/** Data folders that belong to another server: each start is refused with the reason, before it touches what the other one runs. */
import { cp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "./database.ts";
import { launcher, run, startServer, temporaryFolder } from "./process.ts";

test("a node on PostgreSQL is alone in its folder, with its id, and does not start without its database", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  const [data, copy] = [join(folder.path, "data"), join(folder.path, "copy")];
  const env = {
    MILLRACE_DATABASE_URL: database.url,
    MILLRACE_MASTER_KEY: Buffer.alloc(32, 7).toString("base64"),
    MILLRACE_COMPUTE: "none",
  };
  const refusal = async (where: string, given: Record<string, string>) => {
    const { code, stderr } = await run(launcher, ["serve", "--data", where, "--port", "0"], { env: given });
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
    return stderr;
  };
  const server = await startServer(data, { env });
  try {
    expect(await refusal(data, env)).toContain(`another Millrace server already runs on ${data}`);
    await cp(data, copy, { recursive: true });
    expect(await refusal(copy, env)).toMatch(
      /the server at \S+ has this server's node id .*: stop one of them, remove/,
    );
    for (const name of ["node-id", "machine-id"]) await rm(join(copy, name));
    await (await startServer(copy, { env })).end("SIGTERM");
  } finally {
    await server.end("SIGKILL");
  }
  expect(await refusal(data, { MILLRACE_COMPUTE: "none" })).toContain(
    `${data} is the folder of a server whose records are in PostgreSQL, and no database is named`,
  );
  await writeFile(join(data, "store.db"), "");
  await using again = await startServer(data, { env });
  expect((await again.call("GET", "/readyz", {})).status).toBe(200);
  expect(again.log()).toContain(`the records in ${join(data, "store.db")} are not used, since MILLRACE_DATABASE_URL`);
});
