/** Starts that fail or wait: each says in one sentence what is wrong and what to do, without a stack trace. */
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { launcher, run, startServer, temporaryFolder } from "./process.ts";
import { isOver, place, submit, untilClaimsAreWritten } from "./worker-place.ts";

/** Returns the message of a start that must fail. */
async function refusal(data: string, env: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await run(launcher, ["serve", "--data", data, "--port", "0"], {
    env: { MILLRACE_COMPUTE: "none", ...env },
  });
  expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
  return stderr.trim().replace(/^millrace: /, "");
}

describe("the data folder", () => {
  test("is a file, or below one, or where none can be made", async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, "file");
    await writeFile(file, "");
    expect(await refusal(file)).toBe(
      `the data folder ${file} is a file: move it away, or name another folder with --data (MILLRACE_DATA).`,
    );
    expect(await refusal(join(file, "data"))).toContain("cannot be made, since a part of its path is a file");
    expect(await refusal("/proc/millrace/data")).toContain("cannot be made: no folder can be made there");
  });

  test.runIf(process.getuid!() === 0)("may not be written by this user", async () => {
    await using folder = await temporaryFolder();
    const data = join(folder.path, "data");
    await mkdir(data, { mode: 0o700 });
    await promisify(execFile)("chmod", ["755", folder.path]);
    const child = [
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
      launcher,
      "serve",
      "--data",
      data,
      "--port",
      "0",
    ];
    const { code, stderr } = await run("setpriv", child);
    expect([code, stderr]).toEqual([
      1,
      `millrace: the data folder ${data} may not be written by this user: give it to the user with 'chown', ` +
        "or name another folder with --data (MILLRACE_DATA).\n",
    ]);
  });
});

describe("the database", () => {
  test.each(["store.db", "queue.db", "server.lock"])("%s is no database", async (name) => {
    await using folder = await temporaryFolder();
    await writeFile(join(folder.path, name), "not a database at all, but a note to somebody");
    expect(await refusal(folder.path)).toBe(
      `${join(folder.path, name)} cannot be opened: it is no SQLite database: ` +
        "move it away if it is not Millrace's, or restore it from a backup.",
    );
  });

  test("is damaged", async () => {
    await using folder = await temporaryFolder();
    const server = await startServer(folder.path);
    await server.end("SIGTERM");
    const file = join(folder.path, "store.db");
    await promisify(execFile)("dd", ["if=/dev/urandom", `of=${file}`, "bs=4096", "seek=1", "count=30", "conv=notrunc"]);
    expect(await refusal(folder.path)).toContain(`${file} cannot be opened: it is damaged: restore it from a backup`);
  });

  test("is a PostgreSQL that is not there: its address, without the password", async () => {
    await using folder = await temporaryFolder();
    const said = await refusal(folder.path, { MILLRACE_DATABASE_URL: "postgres://me:hidden-word@127.0.0.1:9/records" });
    expect(said).toBe(
      "PostgreSQL at 127.0.0.1:9/records as me cannot be used: nothing listens there: " +
        "check that PostgreSQL runs there, and the address in MILLRACE_DATABASE_URL.",
    );
    expect(await refusal(folder.path, { MILLRACE_DATABASE_URL: "postgres://me:hidden-word@:::/x" })).not.toContain(
      "hidden-word",
    );
    const file = join(folder.path, "url");
    await writeFile(file, "postgres://me:hidden#word@127.0.0.1/records\n");
    expect(await refusal(folder.path, { MILLRACE_DATABASE_URL_FILE: file })).toMatch(
      /^the text of \S+url must be a URL such as postgres:\S+ in the password write %23 for #/,
    );
    expect(await refusal(folder.path, { MILLRACE_DATABASE_URL_FILE: "/nowhere/url" })).toContain(
      "/nowhere/url, named by --database-url-file or MILLRACE_DATABASE_URL_FILE, cannot be read (ENOENT)",
    );
  });
});

test("a variable that is nearly a setting stops the start, any other is told of", async () => {
  await using folder = await temporaryFolder();
  expect(await refusal(folder.path, { MILLRACE_PROT: "1" })).toContain("MILLRACE_PROT is no setting; MILLRACE_PORT is");
  await using server = await startServer(folder.path, { env: { MILLRACE_COLOUR_OF_SKY: "blue" } });
  expect(server.log()).toContain("there is no setting of this name: MILLRACE_COLOUR_OF_SKY.");
});

describe("Ctrl-C", () => {
  test("says how many jobs and workers it waits for; a second one ends at once, and the next start goes on", async ({
    onTestFailed,
  }) => {
    await using at = await place({ onFailure: onTestFailed });
    const endpoint = await at.endpoint();
    const job = await submit(at, endpoint, { ms: 3000 });
    await at.until(endpoint, job, ({ status }) => status === "IN_PROGRESS");
    await untilClaimsAreWritten(at, endpoint);
    const { server } = at;
    const said = new Promise<void>((resolve) => {
      server.process.stderr!.on("data", () => server.log().includes("Ctrl-C again ends at once") && resolve());
    });
    const ended = server.end("SIGINT");
    await said;
    expect(server.log()).toContain(
      "millrace: ending; waiting for 1 job in progress, which may end or go back to the queue, " +
        "and for 1 worker of this machine to end. Ctrl-C again ends at once",
    );
    server.process.kill("SIGINT");
    expect(await ended).toBe(130);
    await at.restart("SIGKILL");
    expect(await at.until(endpoint, job, isOver)).toMatchObject({ status: "COMPLETED" });
  });
});
