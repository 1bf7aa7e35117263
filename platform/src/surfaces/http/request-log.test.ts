/** The log of requests: each line has the ids by which the lines about one job, endpoint or account are found. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { setupJobs } from "../../../tests/job-world.ts";
import { setup, type World } from "../../../tests/world.ts";
import { changeLevel } from "../../composition/log-level.ts";

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
const requestsIn = ({ logged }: World): any[] =>
  logged.map((line) => JSON.parse(line)).filter((line) => line.message === "request");

test("a line has the request's id, the account, the key, and what the path names", async () => {
  await using world = await setup();
  const { headers } = await world.call("GET", "/v2/pods/abcdefghijklmn?api_key=secret");
  expect(requestsIn(world)).toEqual([
    {
      ...{ message: "request", requestId: headers.get("x-request-id"), method: "GET", path: "/v2/pods/abcdefghijklmn" },
      ...{ status: 404, ms: 0, pod: "abcdefghijklmn", account: world.owner.account, key: expect.any(String) },
    },
  ]);
  expect(world.logged.join()).not.toContain("secret");
});

test("a line stays short whatever path is sent, since journald cuts lines of 48 KB in two", async () => {
  await using world = await setup();
  // In JSON each quotation mark is two characters.
  await world.raw(`GET /v2/pods/${'"'.repeat(30_000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  expect(requestsIn(world)).toMatchObject([{ status: 401, path: expect.stringMatching(/^\/v2\/pods\/"{491}…$/) }]);
});

test("calls of jobs are logged at the level debug alone, with their endpoint and job", async () => {
  await using quiet = await setupJobs();
  await quiet.submit();
  expect(requestsIn(quiet).filter(({ path }) => path.endsWith("/run"))).toEqual([]);
  await using world = await setupJobs({ logsDebug: true });
  const job = await world.submit();
  await world.invoke("GET", `/status/${job}`);
  const lines = requestsIn(world).slice(-2);
  expect(lines).toMatchObject([
    { endpoint: world.endpoint, account: world.owner.account, status: 200 },
    { endpoint: world.endpoint, job, account: world.owner.account, status: 200 },
  ]);
});

test("the level of a running server's log follows a file, and a wrong word in it changes nothing", async () => {
  const data = await mkdtemp(join(tmpdir(), "millrace-level-"));
  try {
    const lines: string[] = [];
    const write = (_: object, text: string) => void lines.push(text);
    const log = { level: "info", info: write, warn: write, error: write };
    const settings = { data, logLevel: "warn" as const };
    await writeFile(join(data, "log-level"), "debug\n");
    expect([await changeLevel(log, settings), log.level]).toEqual(["debug", "debug"]);
    await writeFile(join(data, "log-level"), "loud");
    expect([await changeLevel(log, settings), log.level]).toEqual(["warn", "warn"]);
    await rm(join(data, "log-level"));
    expect(await changeLevel(log, settings)).toBe("warn");
    expect(lines).toEqual([
      "the level of the log is debug from now on",
      "log-level must hold one of debug, info, warn, error, silent",
      "the level of the log is warn from now on",
    ]);
  } finally {
    await rm(data, { recursive: true });
  }
});
