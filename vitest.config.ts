import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./platform/tests/longest-first.ts";

/** Programs that tests start read code that was compiled before, as the launcher's do: they are there in half of the time. */
const compiled = { NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/compiled", import.meta.url)) };
const DOCKER_TESTS = ["platform/src/adapters/docker/*.real.test.ts", "platform/tests/docker-*.real.test.ts"];

// Five projects: `fast` needs nothing installed and takes minutes; `simulation` runs many seeded worlds of the job engine, which takes half
// of one; `apart` changes modules, which must be its own; `real` starts PostgreSQL, servers and other real parts; `docker` starts a Docker
// engine, see scripts/test-docker.sh.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: "fast",
          include: ["{platform,cli,worker}/src/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: ["**/*.real.test.ts"],
          // Files share the modules that a process has already loaded: to load them anew for each took half of the time. Tests therefore
          // keep what they change to themselves.
          isolate: false,
          maxWorkers: availableParallelism(),
          // Nothing here waits for time to pass; a slow disk under load may still need this long.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: "simulation",
          include: ["platform/tests/simulation/*.test.ts"],
          testTimeout: 300_000,
        },
      },
      {
        test: {
          name: "apart",
          include: ["platform/tests/*.test.ts"],
          exclude: ["**/*.real.test.ts"],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "real",
          include: ["platform/{src,tests}/**/*.real.test.ts", "worker/src/**/*.real.test.ts"],
          exclude: DOCKER_TESTS,
          isolate: false,
          // They wait for servers, disks and real time more than they compute, though not so much that twice as many would be done sooner.
          maxWorkers: availableParallelism() + 1,
          env: compiled,
          globalSetup: ["platform/tests/real-postgres.ts"],
          // Only what hangs takes so long, also on a machine that does much else: a test waits up to two minutes for each of several things.
          testTimeout: 480_000,
          hookTimeout: 480_000,
        },
      },
      {
        test: {
          name: "docker",
          include: DOCKER_TESTS,
          globalSetup: ["platform/tests/real-docker.ts"],
          // One file is mostly waiting for the engine while another computes; a third makes every start of a container slower.
          maxWorkers: 2,
          // Only what hangs takes so long: a test waits up to two minutes for each of several things, and one engine serves them all.
          testTimeout: 480_000,
          hookTimeout: 480_000,
        },
      },
    ],
  },
});
