/** Pods in containers, on a real server. */
import { readFile } from "node:fs/promises";
import { expect, inject, test } from "vitest";
import { label } from "../src/adapters/docker/container.ts";
import { EngineApi } from "../src/adapters/docker/engine-api.ts";
import { stay } from "../src/kernel/clock.ts";
import { walkCluster } from "./cluster-walk.ts";
import { PodWalk, walk } from "./pod-walk.ts";
import { TEST_IMAGE } from "./real-docker.ts";
import { LOOK_MS, serverPlace } from "./worker-place.ts";

const PROGRAM = new URL("./fixtures/pod-program.mjs", import.meta.url);
const SUMS = new URL("./fixtures/sum-program.mjs", import.meta.url);

/** The containers of a Pod, running or not. */
const containersOf = (pod: string) =>
  new EngineApi(inject("dockerSocket")).call<unknown[]>("GET", "/containers/json", {
    query: { all: true, filters: { label: [`${label.owner}=${pod}`] } },
  });

test.concurrent("the life of a Pod in containers, and none is left", async ({ onTestFailed }) => {
  const cmd = ["--input-type=module", "--eval", await readFile(PROGRAM, "utf8")];
  const program = { image: TEST_IMAGE, cmd };
  const env = { MILLRACE_DOCKER: inject("dockerSocket") };
  await using at = await serverPlace({ program, env, onFailure: onTestFailed });
  const pod = await PodWalk.begin(at, program);
  await walk(at, pod);
  while ((await containersOf(pod.id)).length > 0) await stay(LOOK_MS);
  expect((await at.call("GET", "/v2/pods")).json.pods).toEqual([]);
});

test.concurrent("the life of a cluster in containers: a sum over its members, and none is left", async ({
  onTestFailed,
}) => {
  const program = { image: TEST_IMAGE, cmd: ["--input-type=module", "--eval", await readFile(SUMS, "utf8")] };
  const env = { MILLRACE_DOCKER: inject("dockerSocket") };
  await using at = await serverPlace({ program, env, onFailure: onTestFailed });
  const { pods } = await walkCluster(at, program);
  for (const pod of pods) while ((await containersOf(pod)).length > 0) await stay(LOOK_MS);
});
