/** The test command: runs lines of parallel stages and stops after the first line with a failure. `--all` adds all other tests. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { alone, isMended } from "./testing/again.ts";
import { endServers, mountsBelow, processesOf, remainsOf, surroundings, type TestRun } from "./testing/remains.ts";
import { endStages, runStage, type Stage, type StageOutcome } from "./testing/stage.ts";

const stage = (name: string, program: string, ...args: string[]): Stage => ({ name, command: [program, ...args] });
const vitest = (name: string, ...projects: string[]) =>
  stage(name, "vitest", "run", ...projects.map((project) => `--project=${project}`));
const triedAgain = (one: Stage): Stage => ({ ...one, triedAgain: true });

type Line = readonly Stage[];

/** Fast tests keep the CPU busy and get the machine to themselves. Real and Docker tests mostly wait. */
const FIRST: readonly Line[] = [
  [
    stage("format and lint", "biome", "ci", "--error-on-warnings", "."),
    stage("types", "tsc", "-p", ".", "--checkers", "1"),
    stage("types of the console", "tsc", "-p", "console", "--checkers", "1"),
    stage("openapi", "redocly", "lint", "openapi.json", "openapi-invoke.json", "openapi-v1.json"),
    vitest("simulation", "simulation", "apart"),
  ],
  [vitest("fast tests", "fast")],
];
/** These mostly wait for the servers that they start. */
const PROMISES = triedAgain(vitest("promises", "promises"));
const QUICK: readonly Line[] = [...FIRST, [PROMISES]];
const ALL: readonly Line[] = [
  ...FIRST,
  [PROMISES, vitest("cluster tests", "cluster")],
  [triedAgain(vitest("real tests", "real")), triedAgain(stage("docker tests", "bash", "scripts/test-docker.sh"))],
];

const root = fileURLToPath(new URL("..", import.meta.url));
const env = {
  ...process.env,
  // Each test of a queue on disk starts threads, and each thread loads its modules. With compiled code they cost half as much.
  NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
  REDOCLY_TELEMETRY: "off",
  ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
};

/** Lines of a failed stage that are repeated at the end, because they may be thousands of lines above it. */
const WORTH_REPEATING = /FAIL|×|Error: |^E: |not ok/;
const MOST_REPEATED = 60;
const TAIL = 20;
/** More failures than this do not come from unsteady tests. */
const MOST_TRIED_AGAIN = 12;
/** A process that a test ended may take a moment to disappear. */
const SETTLE_MS = 500;
const SETTLE_LOOKS = 20;
/** A server that a failed test killed is tidied up after by its watchdog, which first waits a minute for the next server. */
const SETTLE_LOOKS_AFTER_FAILURE = 160;

const counts = { passed: 0, failed: 0, skipped: 0 };
const unsteady: string[] = [];

/** All tests write into one folder, so that what they leave behind can be told from files of others. */
function newRun(): TestRun {
  const folder = mkdtempSync(join(tmpdir(), "mt-"));
  // Programs of other users write there too, as they do in the temporary folder that it replaces.
  chmodSync(folder, 0o1777);
  return { id: basename(folder), folder };
}

function count({ progress }: StageOutcome): void {
  counts.passed += progress.passed;
  counts.skipped += progress.skipped;
}

async function runLine(line: Line, run: TestRun): Promise<string[]> {
  if (line.length > 1) console.log(`side by side: ${line.map(({ name }) => name).join(", ")}`);
  const outcomes = await Promise.all(
    line.map(async (one) => {
      const started = performance.now();
      const outcome = await runStage(one, { run, env, live: line.length === 1 });
      count(outcome);
      if (line.length > 1) process.stdout.write(outcome.said);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`stage ${one.name}: ${seconds} s${outcome.passed ? "" : " — FAILED"}`);
      return { one, outcome };
    }),
  );
  const failed: string[] = [];
  for (const { one, outcome } of outcomes) if (!outcome.passed) failed.push(...(await failuresOf(one, outcome, run)));
  return failed;
}

/** Returns the failures of a stage that remain after some tests were run again. */
async function failuresOf(one: Stage, outcome: StageOutcome, run: TestRun): Promise<string[]> {
  const { failures, running } = outcome.progress;
  // A stage that was killed, or failed for another reason than a test, has not reported all of its failures.
  const isTests = one.triedAgain && failures.length > 0 && running.length === 0;
  const tests = failures.reduce((sum, { names }) => sum + Math.max(1, names.length), 0);
  if (!isTests || tests > MOST_TRIED_AGAIN) {
    counts.failed += Math.max(1, tests);
    return [repeat(one, outcome)];
  }
  // A test that ran out of time has not ended its servers.
  for (const server of endServers(run)) console.log(`left by a failed test, told to end: ${server.command}`);
  const still: string[] = [];
  for (const failure of failures) {
    const where = `${one.name}: ${relative(root, failure.file)}${failure.names.map((name) => `\n    ${name}`).join("")}`;
    console.log(`failed, run once more alone: ${where}`);
    const again = await runStage(alone(one, failure), { run, env, live: true });
    count(again);
    const mended = isMended(again.passed, again.progress, failure);
    console.log(`alone: ${mended ? "passed" : "FAILED again"}: ${where}`);
    if (mended) unsteady.push(where);
    else {
      counts.failed += Math.max(1, failure.names.length);
      still.push(repeat(one, outcome), repeat({ ...one, name: `${one.name}, alone` }, again));
    }
  }
  return still;
}

function repeat({ name }: Stage, { said }: StageOutcome): string {
  const told = stripVTControlCharacters(said).split("\n");
  const repeated = told.filter((text) => WORTH_REPEATING.test(text)).slice(0, MOST_REPEATED);
  return [`FAILED: ${name}`, ...(repeated.length > 0 ? repeated : told.slice(-TAIL))].join("\n");
}

async function whatIsLeft(run: TestRun, before: ReturnType<typeof surroundings>): Promise<string[]> {
  const looks = unsteady.length > 0 ? SETTLE_LOOKS_AFTER_FAILURE : SETTLE_LOOKS;
  for (let look = 1; look < looks; look++) {
    if (remainsOf(run, before).length === 0) return [];
    await wait(SETTLE_MS);
  }
  return remainsOf(run, before);
}

function tidy(run: TestRun): void {
  for (const { pid } of processesOf(run)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has ended meanwhile.
    }
  }
  // There may be anything below a mount, so it is left for the person who looks for the reason.
  if (mountsBelow(run.folder).length === 0) rmSync(run.folder, { recursive: true, force: true, maxRetries: 5 });
}

const run = newRun();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    endStages();
    tidy(run);
    process.exit(130);
  });

const before = surroundings();
const failed: string[] = [];
for (const line of process.argv.includes("--all") ? ALL : QUICK) {
  failed.push(...(await runLine(line, run)));
  if (failed.length > 0) break;
}
const left = await whatIsLeft(run, before);
tidy(run);
if (left.length > 0) failed.push(["FAILED: tests left these behind", ...left].join("\n"));
if (failed.length > 0) console.log(failed.join("\n"));
if (unsteady.length > 0) console.log(`unsteady, passed only the second time:\n  ${unsteady.join("\n  ")}`);
console.log(`left behind: ${left.length === 0 ? "nothing" : `${left.length} things`}`);
console.log(`tests: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exit(failed.length > 0 ? 1 : 0);
