/** Runs the stages of the test command, those of one line side by side, and stops after the first line in which one fails. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

interface Stage {
  name: string;
  command: readonly [program: string, ...args: string[]];
}

const stage = (name: string, program: string, ...args: string[]): Stage => ({ name, command: [program, ...args] });
const vitest = (name: string, ...projects: string[]) =>
  stage(name, "vitest", "run", ...projects.map((project) => `--project=${project}`));

/** Fast tests compute all the time and have the machine to themselves; real and Docker tests wait for the most part. */
const lines: readonly (readonly Stage[])[] = [
  [
    stage("format and lint", "biome", "ci", "--error-on-warnings", "."),
    stage("types", "tsc", "-p", "."),
    stage("openapi", "redocly", "lint", "openapi.json", "openapi-invoke.json", "openapi-v1.json"),
    vitest("simulation", "simulation", "apart"),
  ],
  [vitest("fast tests", "fast")],
  [vitest("real tests", "real"), stage("docker tests", "bash", "scripts/test-docker.sh")],
];

const env = {
  ...process.env,
  // Each test of a queue on disk starts threads, and each thread reads its modules: compiled before, they cost half as much.
  NODE_COMPILE_CACHE: fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url)),
  REDOCLY_TELEMETRY: "off",
  ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
};

/** What is worth saying once more of a stage that failed: it may be thousands of lines above the end. */
const WORTH_REPEATING = /FAIL|×|Error: |^E: |not ok/;
const MOST_REPEATED = 60;
const TAIL = 20;

/** One by itself writes as it goes. Of several each is shown as a whole when it has ended, so that no two are mixed. */
async function run({ name, command }: Stage, byItself: boolean): Promise<string | undefined> {
  const started = performance.now();
  const stdio = byItself ? "inherit" : (["ignore", "pipe", "pipe"] as const);
  const child = spawn(command[0], command.slice(1), { env, stdio: stdio as "inherit" });
  const said: Buffer[] = [];
  for (const output of [child.stdout, child.stderr] as (NodeJS.ReadableStream | null)[])
    output?.on("data", (part: Buffer) => said.push(part));
  const status = await once(child, "close").then(
    ([code]) => code as number | null,
    (error: Error) => {
      said.push(Buffer.from(`${error.message}\n`));
      return null;
    },
  );
  process.stdout.write(Buffer.concat(said));
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`stage ${name}: ${seconds} s${status === 0 ? "" : " — FAILED"}`);
  if (status === 0) return undefined;
  const told = stripVTControlCharacters(Buffer.concat(said).toString()).split("\n");
  const repeated = told.filter((text) => WORTH_REPEATING.test(text)).slice(0, MOST_REPEATED);
  return [`FAILED: ${name}`, ...(repeated.length > 0 ? repeated : told.slice(-TAIL))].join("\n");
}

for (const line of lines) {
  if (line.length > 1) console.log(`side by side: ${line.map(({ name }) => name).join(", ")}`);
  const outcomes = await Promise.all(line.map((one) => run(one, line.length === 1)));
  const failures = outcomes.filter((outcome) => outcome !== undefined);
  if (failures.length === 0) continue;
  console.log(failures.join("\n"));
  process.exit(1);
}
