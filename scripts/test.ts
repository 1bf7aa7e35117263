/** Runs the stages of the test command one after another, prints each one's seconds, and stops at the first that fails. */
import { spawnSync } from "node:child_process";

const stages: [name: string, command: string[]][] = [
  ["format and lint", ["biome", "ci", "--error-on-warnings", "."]],
  ["types", ["tsc", "-p", "."]],
  ["openapi", ["redocly", "lint", "openapi.json"]],
  ["fast tests", ["vitest", "run", "--project", "fast"]],
  ["simulation", ["vitest", "run", "--project", "simulation"]],
  ["real tests", ["vitest", "run", "--project", "real"]],
  ["docker tests", ["bash", "scripts/test-docker.sh"]],
];

for (const [name, command] of stages) {
  const started = performance.now();
  const { status } = spawnSync(command[0]!, command.slice(1), {
    stdio: "inherit",
    env: { ...process.env, REDOCLY_TELEMETRY: "off" },
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`stage ${name}: ${seconds} s${status === 0 ? "" : " — FAILED"}`);
  if (status !== 0) process.exit(status ?? 1);
}
