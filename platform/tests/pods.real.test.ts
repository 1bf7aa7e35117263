/** Pods as programs of this machine, on a real server, as a person uses them. */
import { chmod, copyFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { bridgeName } from "../src/adapters/host/bridge-network.ts";
import { keyOf } from "../src/adapters/host/host-options.ts";
import { missingForTests } from "../src/adapters/host/machine.ts";
import { groupsLeftBy } from "../src/adapters/host/remains.ts";
import { stay } from "../src/kernel/clock.ts";
import { walkCluster } from "./cluster-walk.ts";
import { PodWalk, walk } from "./pod-walk.ts";
import { temporaryFolder } from "./process.ts";
import { LOOK_MS, serverPlace } from "./worker-place.ts";

const PROGRAM = new URL("./fixtures/pod-program.mjs", import.meta.url);
const SUMS = new URL("./fixtures/sum-program.mjs", import.meta.url);

const missing = await missingForTests();
beforeEach(({ skip }) => skip(missing !== undefined, missing));

test("the life of a Pod on the host, and nothing is left on the machine", async ({ onTestFailed }) => {
  await using app = await temporaryFolder();
  await copyFile(PROGRAM, join(app.path, "pod.mjs"));
  await chmod(app.path, 0o755);
  const program = { image: `host:${app.path}`, cmd: ["node", "pod.mjs"] };
  await using at = await serverPlace({ program, onFailure: onTestFailed });
  const pod = await PodWalk.begin(at, program);
  await walk(at, pod);
  const left = async () => (await readdir(at.data, { recursive: true })).filter((name) => name.includes(pod.id));
  while ((await left()).length > 0) await stay(LOOK_MS);
  // Names that begin with a dot belong to the driver itself.
  expect((await readdir(join(at.data, "instances"))).filter((name) => !name.startsWith("."))).toEqual([]);
});

test("the life of a cluster on the host: a sum over its members, and nothing is left on the machine", async ({
  onTestFailed,
}) => {
  await using app = await temporaryFolder();
  await copyFile(SUMS, join(app.path, "sums.mjs"));
  await chmod(app.path, 0o755);
  const program = { image: `host:${app.path}`, cmd: ["node", "sums.mjs"] };
  await using at = await serverPlace({ program, onFailure: onTestFailed });
  await walkCluster(at, program);
  const left = async () => (await readdir(join(at.data, "instances"))).filter((name) => !name.startsWith("."));
  while ((await left()).length > 0) await stay(LOOK_MS);
  const bridge = bridgeName(keyOf(join(at.data, "instances")).key);
  while ((await groupsLeftBy(bridge)).length > 0) await stay(LOOK_MS);
});
