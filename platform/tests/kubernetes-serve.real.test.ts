/** A server that runs workers and Pods on a Kubernetes cluster, as a person would run it. */
import { readFile } from "node:fs/promises";
import { afterAll, expect, test } from "vitest";
import { label } from "../src/adapters/kubernetes/kube-objects.ts";
import { stay } from "../src/kernel/clock.ts";
import { clearCluster, podsOf, settings } from "./kubernetes-server.ts";
import { openApi } from "./kubernetes-world.ts";
import { PodWalk, walk } from "./pod-walk.ts";
import { KUBERNETES_IMAGE } from "./real-kubernetes.ts";
import { walkBySsh } from "./ssh-walk.ts";
import { LOOK_MS, serverPlace } from "./worker-place.ts";

const PROGRAM = new URL("./fixtures/pod-program.mjs", import.meta.url);
const WORKER = { image: KUBERNETES_IMAGE, cmd: ["/echo-worker.ts"] };
const pod = async () => ({
  image: KUBERNETES_IMAGE,
  cmd: ["--input-type=module", "--eval", await readFile(PROGRAM, "utf8")],
});

afterAll(clearCluster);

test.concurrent("a job is done by a worker in a Kubernetes Pod, which outlives its server and ends with the next one", async ({
  onTestFailed,
}) => {
  const api = openApi();
  const { env, port, namespace } = await settings();
  await using at = await serverPlace({ program: WORKER, env, args: ["--port", port], onFailure: onTestFailed });
  const endpoint = await at.endpoint({ workers: { min: 0, max: 1 } });
  const runsync = async (n: number) => (await at.call("POST", `/v2/${endpoint}/runsync`, { input: { n } })).json;
  const before = await runsync(1);
  expect(before).toMatchObject({ status: "COMPLETED", output: { n: 1 } });
  const [worker] = await podsOf(api, namespace, endpoint);
  expect(worker?.metadata.labels?.[label.instance]).toBe(before.workerId);
  await at.restart("SIGKILL");
  const after = await runsync(2);
  expect(after).toMatchObject({ status: "COMPLETED", output: { n: 2 }, workerId: before.workerId });
  await at.server.end("SIGTERM");
  expect(await podsOf(api, namespace, endpoint)).toEqual([]);
});

test.concurrent("an image that no node has is the reason for which a job waits", async ({ onTestFailed }) => {
  const { env, port } = await settings();
  const program = { ...WORKER, image: "millrace.test/none:1" };
  await using at = await serverPlace({ program, env, args: ["--port", port], onFailure: onTestFailed });
  const endpoint = await at.endpoint({ workers: { min: 0, max: 1 } });
  const job = (await at.call("POST", `/v2/${endpoint}/run`, { input: {} })).json.id;
  let reason = "";
  while (!reason.includes("boot failed")) {
    reason = (await at.call("GET", `/v2/${endpoint}/status/${job}`)).json.waitReason;
    await stay(LOOK_MS);
  }
  expect(reason).toContain("the image is on no node that may run it");
});

test.concurrent("the life of a Pod on Kubernetes, with its volume, its ports and a terminal, and none is left", async ({
  onTestFailed,
}) => {
  const api = openApi();
  const { env, port, namespace } = await settings();
  const program = await pod();
  await using at = await serverPlace({ program, env, args: ["--port", port], onFailure: onTestFailed });
  const life = await PodWalk.begin(at, program);
  await walk(at, life, { keepsDisk: false });
  while ((await podsOf(api, namespace, life.id)).length > 0) await stay(LOOK_MS);
  expect((await at.call("GET", "/v2/pods")).json.pods).toEqual([]);
});

test.concurrent("ssh, scp, sftp, ssh -L and ssh -D reach a Pod on Kubernetes", async ({ onTestFailed }) => {
  const { env, port } = await settings();
  const program = await pod();
  await using at = await serverPlace({ program, env, args: ["--port", port], onFailure: onTestFailed });
  await walkBySsh(at, program);
});
