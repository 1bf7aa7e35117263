/** The emulator as a test suite uses it, from Node and from Python, with the code of its documentation. */
import { execFile } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { launcher, root, startServer, temporaryFolder } from "../../platform/tests/process.ts";
import { call } from "../../platform/tests/world.ts";
import { type Emulator, start } from "./main.ts";

const run = promisify(execFile);
const python = join(root, "emulator/python");

async function shown(language: string): Promise<string> {
  const text = await readFile(join(root, "docs/emulator.md"), "utf8");
  return new RegExp(`\n\`\`\`${language}\n(.*?)\n\`\`\``, "s").exec(text)![1]!;
}

test("the documentation's code for Node runs as it is", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "suite.mts");
  const here = JSON.stringify(fileURLToPath(new URL("./main.ts", import.meta.url)));
  await writeFile(file, (await shown("ts")).replace('"@millrace/emulator"', here));
  await run(process.execPath, [file]);
});

test("the documentation's code for pytest runs as it is", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "test_suite.py");
  // Without pytest on the machine, the test is called by hand with what the fixture gives.
  const byHand = `\nfrom millrace_emulator import start\nwith start() as millrace: test_a_job_waits_without_capacity(millrace)\n`;
  await writeFile(file, await shown("python"));
  const env = { ...process.env, PYTHONPATH: python, PYTHONDONTWRITEBYTECODE: "1" };
  const hasPytest = await run("python3", ["-c", "import pytest"]).then(
    () => true,
    () => false,
  );
  if (!hasPytest) await writeFile(file, `${await shown("python")}${byHand}`);
  const args = hasPytest ? ["-m", "pytest", "-q", "-p", "millrace_emulator", "-p", "no:cacheprovider", file] : [file];
  await run("python3", args, { env, cwd: folder.path });
});

test("a state that was saved is where the next emulator goes on, and several run at the same time", async () => {
  await using folder = await temporaryFolder();
  const state = join(folder.path, "shop.state");
  await using first = await start();
  const endpoints = async ({ url, key }: Emulator) =>
    (await call(url, "GET", "/v2/serverless", { key })).json.endpoints.map(({ name }: { name: string }) => name);
  const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
  await call(first.url, "POST", "/v2/serverless", { key: first.key, body: { name: "shop", image: "a:1", cpu } });
  const moved = await first.advance("10d");
  await first.save(state);
  await using second = await start({ state });
  expect(second.key).toBe(first.key);
  expect(await endpoints(second)).toEqual(["shop"]);
  expect([moved, await second.now()].toSorted()[0]).toBe(moved);
  await using third = await start();
  expect(await endpoints(third)).toEqual([]);
});

test("a limit on requests is met as often as it was asked for, and what does not fit is refused", async () => {
  await using millrace = await start();
  const { url, key } = millrace;
  await millrace.fault({ kind: "rate-limit", times: 1, seconds: 7 });
  const { status, headers } = await call(url, "GET", "/v2/pods", { key });
  expect([status, headers.get("retry-after")]).toEqual([429, "7"]);
  expect((await call(url, "GET", "/v2/pods", { key })).status).toBe(200);
  await expect(millrace.advance("soon")).rejects.toThrow("must be a time such as 90s");
  await expect(millrace.clear("none")).rejects.toThrow("404");
});

test("only the installation's owner moves time, asks for faults and saves; files that are no state stay", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  await using server = await startServer(data, { args: ["--emulate"] });
  const owner = (await readFile(join(data, "api-key"), "utf8")).trim();
  await run(launcher, ["accounts", "create", "team", "--data", data]);
  const created = await run(launcher, [
    ...["keys", "create", "--scopes", "all", "--account", "team"],
    "--data",
    data,
    "--json",
  ]);
  const { key } = JSON.parse(created.stdout);
  const notes = join(folder.path, "notes");
  await writeFile(notes, "mine");
  const asks: [string, string, object?][] = [
    ["GET", "/emulator/clock"],
    ["POST", "/emulator/clock", { advance: "30d" }],
    ["POST", "/emulator/faults", { kind: "rate-limit" }],
    ["DELETE", "/emulator/faults"],
    ["POST", "/emulator/state", { file: join(folder.path, "stolen") }],
  ];
  for (const [method, path, body] of asks)
    expect([path, (await server.call(method, path, { key, body })).status]).toEqual([path, 403]);
  const save = (file: unknown) => server.call("POST", "/emulator/state", { key: owner, body: { file } });
  for (const file of [notes, folder.path, "/dev/full", "/proc/nothing/here", `${notes}/below`])
    expect([file, (await save(file)).status]).toEqual([file, 400]);
  for (const file of ["relative", "", 5, `/${"x".repeat(5000)}`]) expect((await save(file)).status).toBe(422);
  expect(await readFile(notes, "utf8")).toBe("mine");
  const moved = await server.call("POST", "/emulator/clock", { key: owner, body: { advance: "3661d" } });
  expect(moved.status).toBe(400);
  for (const advance of ["-1d", "1e9d", "NaNd", "1d; 1d", "9".repeat(41)])
    expect((await server.call("POST", "/emulator/clock", { key: owner, body: { advance } })).status).toBeGreaterThan(
      399,
    );
  expect(await server.end("SIGTERM")).toBe(0);
});

test("a state that is none, or that names files elsewhere, is refused at the start", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "odd.state");
  const states: unknown[] = [
    ...[null, 5, [], { millraceState: 2 }, { millraceState: 1, now: "soon", files: {} }],
    ...[
      { millraceState: 1, now: 0, files: null },
      { millraceState: 1, now: 0, files: { "api-key": 5 } },
    ],
    ...[
      { millraceState: 1, now: 0, files: { "../../escaped": "aGk=" } },
      { millraceState: 1, now: 1e300, files: {} },
    ],
  ];
  for (const state of states) {
    await writeFile(file, gzipSync(JSON.stringify(state)));
    await expect(start({ state: file }), JSON.stringify(state)).rejects.toThrow("is no state of an emulator");
  }
  await writeFile(file, "no gzip");
  await expect(start({ state: file })).rejects.toThrow("is no state of an emulator");
  await expect(start({ state: "/dev/zero" })).rejects.toThrow("is no state of an emulator");
  expect(await readdir(folder.path)).toEqual(["odd.state"]);
});

test("a server without --emulate knows nothing of it", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const key = (await readFile(join(folder.path, "api-key"), "utf8")).trim();
  for (const path of ["/emulator/clock", "/emulator/faults", "/emulator/state"])
    expect((await server.call("POST", path, { key, body: {} })).status).toBe(404);
  await expect(run(launcher, ["serve", "--state", "/tmp/x"])).rejects.toThrow("--state is the emulator's");
});
