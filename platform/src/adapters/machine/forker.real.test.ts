/** A server with much memory starts programs from a small process beside it. For the programs it makes no difference. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startChild } from "../../../tests/child.ts";
import { type Folder, temporaryFolder } from "../../../tests/process.ts";
import { realClock, sleep } from "../../kernel/clock.ts";
import { large, runTool, start } from "./forker.ts";
import { childrenOf, commandOf, sendSignal } from "./processes.ts";

const { bytes } = large;
let folder: Folder;

beforeEach(async () => {
  large.bytes = 0;
  folder = await temporaryFolder();
});

afterEach(async () => {
  large.bytes = bytes;
  await folder[Symbol.asyncDispose]();
});

const shell = (script: string, given: Parameters<typeof start>[0]["given"] = []) =>
  start({ command: ["/bin/sh", "-c", script, folder.path], cwd: folder.path, given, name: "millrace-test-forker" });

const wrote = (name: string) => readFile(join(folder.path, name), "utf8");

/** The small process among the children of this one. */
async function forker(): Promise<number> {
  for (const pid of await childrenOf(process.pid)) if ((await commandOf(pid)).includes("forker-process")) return pid;
  throw new Error("there is none");
}

test("a program has what it was given to read, and no other descriptor", async () => {
  const script = "cat <&3 >text; cat <&5 >file; for fd in /proc/$$/fd/*; do readlink $fd; done >descriptors";
  const { ended } = await shell(script, [
    [3, { text: "for the program alone" }],
    [5, { path: "/proc/sys/kernel/ostype" }],
  ]);
  await ended;
  expect(await wrote("text")).toBe("for the program alone");
  expect(await wrote("file")).toBe("Linux\n");
  const others = (await wrote("descriptors")).split("\n").filter((target) => target !== "" && target !== "/dev/null");
  expect(others.map((target) => target.split("/").at(-1))).toEqual([
    "descriptors",
    "millrace-test-forker (deleted)",
    "ostype",
  ]);
});

test("a tool prints what it printed, and fails with what it said", async () => {
  expect(await runTool("/bin/cat", [], "text")).toBe("text");
  await expect(runTool("/bin/sh", ["-c", "echo so it is >&2; exit 3"])).rejects.toThrow("/bin/sh failed: so it is");
});

test("what cannot be started says why, as it would here", async () => {
  const program = { command: ["/bin/true", "x".repeat(4_000_000)], cwd: "/", given: [], name: "millrace-test-forker" };
  const there = await start(program).catch((error) => error.code);
  large.bytes = bytes;
  const here = await start(program).catch((error) => error.code);
  expect([there, here]).toEqual(["E2BIG", "E2BIG"]);
});

test("programs go on when the small process ends, what it was asked fails, and the next is started by another", async () => {
  const { pid } = await shell("read -r line <&3; sleep 1000", [[3, { text: "x" }]]);
  const tool = runTool("/bin/sleep", ["1000"]);
  // Messages are handled in order: once this one is answered, the earlier one was received too.
  await runTool("/bin/true", []);
  const first = await forker();
  sendSignal(first, "SIGKILL");
  await expect(tool).rejects.toThrow("the process that starts programs ended");
  expect(await runTool("/bin/echo", ["again"])).toBe("again\n");
  expect(await forker()).not.toBe(first);
  expect(await commandOf(pid)).toContain("sleep 1000");
  sendSignal(-pid, "SIGKILL");
});

test("the small process ends with its server, however that ends", async () => {
  const server = startedServer();
  const [line] = (await once(server.stdout!, "data")) as [Buffer];
  const pid = Number(line.toString());
  expect(await commandOf(pid)).toContain("forker-process");
  server.kill("SIGKILL");
  await once(server, "exit");
  while ((await commandOf(pid)) !== "") await sleep(realClock, 10);
});

/** Prints the number of its small process and keeps running. */
function startedServer(): ChildProcess {
  const here = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const script = `
    import { large, runTool } from ${here("forker.ts")};
    import { childrenOf } from ${here("processes.ts")};
    large.bytes = 0;
    await runTool("/bin/true", []);
    console.log((await childrenOf(process.pid))[0]);
    setInterval(() => {}, 1000);`;
  return startChild(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script]);
}
