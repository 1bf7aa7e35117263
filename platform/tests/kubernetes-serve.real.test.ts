/** A server that runs workers and Pods on a Kubernetes cluster, as a person would run it. */
import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { type KubeApi, unlessNotFound } from "../src/adapters/kubernetes/kube-api.ts";
import { type KubeList, label, note, type Pod } from "../src/adapters/kubernetes/kube-objects.ts";
import { stay } from "../src/kernel/clock.ts";
import { MACHINE, openApi, SHARED } from "./kubernetes-world.ts";
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

async function freePort(): Promise<string> {
  const server = createServer().listen(0, MACHINE);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return String(port);
}

let made = 0;
const namespaces: string[] = [];

afterAll(async () => {
  const api = openApi();
  for (const namespace of namespaces) await api.call("DELETE", `/api/v1/namespaces/${namespace}`).catch(unlessNotFound);
  api[Symbol.dispose]();
  await rm(SHARED, { recursive: true, force: true });
});

/** Each server has a namespace of its own, which is another cluster for it. */
async function settings() {
  const port = await freePort();
  const namespace = `millrace-serve-${process.pid}-${++made}`;
  namespaces.push(namespace);
  const folder = join(SHARED, namespace);
  const env = {
    MILLRACE_COMPUTE: "kubernetes",
    MILLRACE_HOST: MACHINE,
    MILLRACE_PORT: port,
    MILLRACE_KUBECONFIG: inject("kubeconfig"),
    MILLRACE_KUBERNETES_NAMESPACE: namespace,
    MILLRACE_WORKER_URL: `http://${MACHINE}:${port}`,
    MILLRACE_KUBERNETES_IMAGES: "millrace.test/*",
    MILLRACE_KUBERNETES_NAMES_IMAGE: "millrace.test/busybox:1",
    MILLRACE_KUBERNETES_CPU_SHARE: "0.05",
    MILLRACE_VOLUMES: folder,
    MILLRACE_KUBERNETES_VOLUMES: `host:${folder}`,
  };
  return { env, port, namespace };
}

const podsOf = async (api: KubeApi, namespace: string, owner: string) => {
  const { items } = await api.call<KubeList<Pod>>("GET", `/api/v1/namespaces/${namespace}/pods`);
  return items.filter(({ metadata }) => metadata.annotations?.[note.owner] === owner);
};

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
