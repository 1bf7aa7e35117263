/** The server starts programs and tools from a small shell beside it. For the programs it makes no difference. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startChild } from "../../../tests/child.ts";
import { type Folder, temporaryFolder } from "../../../tests/process.ts";
import { realClock, sleep } from "../../kernel/clock.ts";
import { runTool, start } from "./forker.ts";
import { childrenOf, commandOf, sendSignal } from "./processes.ts";
import { startProgram } from "./start-program.ts";

let folder: Folder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(() => folder[Symbol.asyncDispose]());

const shell = (script: string, given: Parameters<typeof start>[0]["given"] = [], by = start) =>
  by({ command: ["/bin/sh", "-c", script, folder.path], cwd: folder.path, given, name: "millrace-test-forker" });

/** A program's last step. */
const DONE = "; echo >done.new; mv done.new done";
const done = () => expect.poll(() => wrote("done").catch(() => ""), { timeout: 60_000 }).toBe("\n");

const wrote = (name: string) => readFile(join(folder.path, name), "utf8");

/** The shell among the children of this process. */
async function forker(): Promise<number> {
  for (const pid of await childrenOf(process.pid)) if ((await commandOf(pid)).includes("millrace-forker")) return pid;
  throw new Error("there is none");
}

test.each([
  ["by the shell", start],
  ["by this process, where the shell cannot", startProgram],
])("a program that is started %s has what it was given to read, and no other descriptor", async (_how, by) => {
  const script = "cat <&3 >text; cat <&5 >file; for fd in /proc/$$/fd/*; do readlink $fd; done >descriptors";
  const given = [
    [3, { text: "for the program alone" }],
    [5, { path: "/proc/sys/kernel/ostype" }],
  ] as const;
  await shell(script + DONE, given, by);
  await done();
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

test("words arrive as they are, whatever is in them", async () => {
  const words = ["", " ", "'", "it's", '"$HOME"', "a\nb", "*", "\\", "ü\u0081\u0088", "$(false)", "-n", "#", "&"];
  expect(await runTool("/usr/bin/printf", ["%s|", ...words])).toBe(words.map((word) => `${word}|`).join(""));
});

test("what cannot be started says why", async () => {
  const program = { command: ["/bin/true", "x".repeat(4_000_000)], cwd: "/", given: [], name: "millrace-test-forker" };
  await expect(start(program)).rejects.toMatchObject({ code: "E2BIG" });
  await expect(runTool("/nowhere/tool", [])).rejects.toThrow("/nowhere/tool failed: ");
});

test("a program ignores no signal and leads a group of its own", async () => {
  const pid = await shell(`grep SigIgn /proc/$$/status >ignored; cut -d' ' -f5 /proc/$$/stat >group${DONE}`);
  await done();
  expect(BigInt(`0x${(await wrote("ignored")).split("\t")[1]!.trim()}`)).toBe(0n);
  expect(Number(await wrote("group"))).toBe(pid);
});

test("no ended program stays in the table of processes", async () => {
  for (let n = 0; n < 5; n++) await shell("exit 0");
  const ended = async () => {
    await runTool("/bin/true", []);
    return (await childrenOf(await forker())).length;
  };
  // The last tool itself may still be there.
  await expect.poll(ended, { timeout: 60_000 }).toBeLessThan(2);
});

test("programs go on when the shell ends, what it was asked fails, and the next is started by another", async () => {
  const pid = await shell("read -r line <&3; sleep 1000", [[3, { text: "x" }]]);
  const tool = runTool("/bin/sleep", ["20"]);
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

test("the shell ends with its server, however that ends", async () => {
  const server = startedServer();
  const [line] = (await once(server.stdout!, "data")) as [Buffer];
  const pid = Number(line.toString());
  expect(await commandOf(pid)).toContain("millrace-forker");
  server.kill("SIGKILL");
  await once(server, "exit");
  while ((await commandOf(pid)) !== "") await sleep(realClock, 10);
});

/** Prints the number of its shell and keeps running. */
function startedServer(): ChildProcess {
  const here = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const script = `
    import { runTool } from ${here("forker.ts")};
    import { childrenOf } from ${here("processes.ts")};
    await runTool("/bin/true", []);
    console.log((await childrenOf(process.pid))[0]);
    setInterval(() => {}, 1000);`;
  return startChild(process.execPath, ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", script]);
}
