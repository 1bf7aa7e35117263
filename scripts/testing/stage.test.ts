/** The stages of the test command: nothing keeps them alive, a stage that hangs is killed as a whole, and remains are found. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { isMended, patternOf } from "./again.ts";
import { progressOf } from "./progress.ts";
import { endServers, processesOf, remainsOf, surroundings, type TestRun } from "./remains.ts";
import { quietAfter, runStage, type StageOptions } from "./stage.ts";

async function setup(): Promise<{ run: TestRun } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), "mt-"));
  const run = { id: folder, folder };
  return {
    run,
    async [Symbol.asyncDispose]() {
      for (const { pid } of processesOf(run)) process.kill(pid, "SIGKILL");
      await rm(folder, { recursive: true });
    },
  };
}

const shell = (run: TestRun, script: string, options: Partial<StageOptions> = {}) =>
  runStage(
    { name: "some tests", command: ["sh", "-c", script] },
    { run, env: { PATH: process.env.PATH }, live: false, ...options },
  );

test("a stage says all that its program said, and whether it succeeded", async () => {
  await using at = await setup();
  expect(await shell(at.run, "echo out; echo err >&2")).toMatchObject({ passed: true, said: "out\nerr\n" });
  expect(await shell(at.run, "echo out; exit 3")).toMatchObject({ passed: false, said: "out\n" });
});

test("a program that is not there fails its stage and is named", async () => {
  await using at = await setup();
  const stage = { name: "none", command: ["no-such-program"] as [string] };
  const { passed, said } = await runStage(stage, { run: at.run, env: {}, live: false });
  expect([passed, said]).toEqual([false, expect.stringContaining("no-such-program")]);
});

test("a process that is left behind and holds the output does not keep the stage alive, and is seen", async () => {
  await using at = await setup();
  const before = surroundings();
  const { passed } = await shell(at.run, "setsid sleep 4711 &");
  expect(passed).toBe(true);
  // Another server on the machine may have made a network link meanwhile.
  const processes = remainsOf(at.run, before).filter((remain) => remain.startsWith("process "));
  expect(processes).toEqual([expect.stringMatching(/^process \d+: (setsid )?sleep 4711$/)]);
});

test("servers that a failed test left are told to end, and nothing else is", async () => {
  await using at = await setup();
  // Both ignore their words. Each runs in a session of its own, as a server that outlives its stage does.
  await shell(at.run, "setsid sh -c 'sleep 4713; :' millrace serve --port 0 & setsid sh -c 'sleep 4714; :' other &");
  expect(endServers(at.run).map(({ command }) => command)).toEqual([expect.stringContaining("sleep 4713")]);
  const commands = () => processesOf(at.run).map(({ command }) => command);
  await vi.waitUntil(() => !commands().some((command) => command.includes(" serve ")));
  expect(commands()).toContainEqual(expect.stringContaining("other"));
});

test("a stage in which nothing happens is ended with all of its group, and says which files ran and which processes it had", async () => {
  await using at = await setup();
  const began = `printf '{"step":"began","file":"hangs.test.ts"}\\n' >> "$MILLRACE_TEST_PROGRESS"`;
  const { passed, said } = await shell(at.run, `${began}; sleep 4712`, { silentMs: 600 });
  expect(passed).toBe(false);
  expect(said).toContain("Test files that ran:\n  hangs.test.ts\n");
  expect(said).toMatch(/Processes that were there:\n( {2}.*\n)*? {2}\d+ sleep 4712/);
  expect(processesOf(at.run)).toEqual([]);
});

test("any sign of life ends a silence", () => {
  let quiet = { signs: -1, ms: 0 };
  const after = (signs: number) => {
    quiet = quietAfter(quiet, signs, 10);
    return quiet.ms;
  };
  expect([5, 5, 5, 6, 6].map(after)).toEqual([0, 10, 20, 0, 10]);
});

test("a test that is run once more is picked by its name, whatever is in it, and whatever its seed is this time", () => {
  const pattern = new RegExp(patternOf(["a (b) > c? $1", "kill -9, 10 times (seed 17)"]));
  expect(pattern.test("a (b) > c? $1")).toBe(true);
  expect(pattern.test("kill -9, 10 times (seed 4711)")).toBe(true);
  expect(pattern.test("a (b) > c? $1 and more")).toBe(false);
});

test("a run that found none of the tests that failed shows nothing", () => {
  const failure = { file: "a", names: ["one", "two"] };
  const ran = (passed: number) => ({ running: [], failures: [], passed, skipped: 9 });
  expect([0, 1, 2].map((passed) => isMended(true, ran(passed), failure))).toEqual([false, false, true]);
  expect(isMended(true, ran(0), { file: "a", names: [] })).toBe(false);
  expect(isMended(false, ran(2), failure)).toBe(false);
});

test("progress tells what runs, and of what failed the tests, or the file where the file itself did", () => {
  expect(
    progressOf([
      { step: "began", file: "a" },
      { step: "passed" },
      { step: "failed", file: "a", name: "one" },
      { step: "failed", file: "a", name: "two" },
      { step: "ended", file: "a" },
      { step: "failed", file: "b" },
      { step: "began", file: "c" },
      { step: "skipped" },
    ]),
  ).toEqual({
    running: ["c"],
    failures: [
      { file: "a", names: ["one", "two"] },
      { file: "b", names: [] },
    ],
    passed: 1,
    skipped: 1,
  });
});
