import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./platform/tests/longest-first.ts";

/** Programs that tests start read code that was compiled before, as the launcher's do: they are there in half of the time. */
const compiled = { NODE_COMPILE_CACHE: fileURLToPath(new URL("./node_modules/.cache/compiled", import.meta.url)) };
/** Real tests that show the product's promises once: it starts, runs jobs and Pods, loses nothing to kill -9, and public clients work. */
const PROMISES = ["serve", "crash", "fleet", "pod-promise", "public-clients"].map(
  (name) => `platform/tests/${name}.real.test.ts`,
);
/** What workers, Pods and clusters do, on a driver that is a cluster of boxes and begins programs late. */
const WALKS = [
  "platform/src/machines/*.test.ts",
  "platform/src/resources/{pods,clusters,volumes,workers,terminals}/**/*.test.ts",
];
const KUBERNETES_TESTS = [
  "platform/src/adapters/kubernetes/*.real.test.ts",
  "platform/tests/kubernetes-*.real.test.ts",
];
const DOCKER_TESTS = ["platform/src/adapters/docker/*.real.test.ts", "platform/tests/docker-*.real.test.ts"];

/** Only what hangs takes so long, also on a machine that does much else. Less than what the test command takes for a sign that a stage hangs. */
const HANGS_MS = 240_000;
const hanging = { testTimeout: HANGS_MS, hookTimeout: HANGS_MS };
/** They wait for servers, disks and real time more than they compute, though not so much that twice as many would be done sooner. */
const real = {
  isolate: false,
  setupFiles: ["platform/tests/plain-umask.ts"],
  maxWorkers: availableParallelism() + 1,
  env: compiled,
  ...hanging,
};

// Eight projects: `fast` needs nothing installed and takes minutes; `cluster` is a part of it on another machine; `simulation` runs many seeded worlds of the job engine, which takes half
// of one; `apart` changes modules, which must be its own; `promises` starts real servers and needs no root; `real` starts PostgreSQL and
// other real parts, and needs root for most of them; `docker` starts a Docker engine, see scripts/test-docker.sh;
// `kubernetes` needs a cluster, see scripts/test-kubernetes.sh.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./scripts/testing/progress-reporter.ts"],
    projects: [
      {
        test: {
          name: "fast",
          include: [
            "{platform,cli,worker,console,site}/src/**/*.test.ts",
            "examples/**/*.test.ts",
            "scripts/**/*.test.ts",
          ],
          exclude: ["**/*.real.test.ts"],
          // Files share the modules that a process has already loaded: to load them anew for each took half of the time. Tests therefore
          // keep what they change to themselves.
          isolate: false,
          setupFiles: ["platform/tests/nothing-left.ts"],
          // Some of the time a test waits for a thread, a disk or a socket, and another computes meanwhile.
          maxWorkers: availableParallelism() + 1,
          ...hanging,
        },
      },
      {
        test: {
          name: "cluster",
          include: WALKS,
          env: { MILLRACE_TEST_MACHINE: "cluster" },
          isolate: false,
          maxWorkers: availableParallelism(),
          ...hanging,
        },
      },
      {
        test: {
          name: "simulation",
          include: ["platform/tests/simulation/*.test.ts"],
          ...hanging,
        },
      },
      {
        test: {
          name: "apart",
          include: ["platform/tests/*.test.ts"],
          exclude: ["**/*.real.test.ts"],
          ...hanging,
        },
      },
      { test: { name: "promises", include: PROMISES, ...real } },
      {
        test: {
          name: "real",
          include: [
            "platform/{src,tests}/**/*.real.test.ts",
            "{worker,emulator}/src/**/*.real.test.ts",
            "console/tests/*.real.test.ts",
          ],
          exclude: [...DOCKER_TESTS, ...KUBERNETES_TESTS, ...PROMISES],
          globalSetup: ["platform/tests/real-postgres.ts"],
          ...real,
        },
      },
      {
        test: {
          name: "docker",
          include: DOCKER_TESTS,
          globalSetup: ["platform/tests/real-docker.ts"],
          // One file is mostly waiting for the engine while another computes; a third makes every start of a container slower.
          maxWorkers: 2,
          ...hanging,
        },
      },
      {
        test: {
          name: "kubernetes",
          include: KUBERNETES_TESTS,
          globalSetup: ["platform/tests/real-kubernetes.ts", "platform/tests/real-postgres.ts"],
          maxWorkers: 1,
          maxConcurrency: 5,
          ...hanging,
        },
      },
    ],
  },
});
