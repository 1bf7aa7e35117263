/** Clusters over nodes and load balancing on a real Kubernetes cluster, with each way in which an operator may set it up. */
import { readFile } from "node:fs/promises";
import { afterAll, expect, test } from "vitest";
import { type KubeApi, unlessNotFound } from "../src/adapters/kubernetes/kube-api.ts";
import {
  type KubeList,
  type KubeObject,
  label,
  note,
  type Pod,
  podName,
} from "../src/adapters/kubernetes/kube-objects.ts";
import { stay } from "../src/kernel/clock.ts";
import { newId, reachAt, seen } from "../src/ports/compute/conformance-world.ts";
import { walkBalanced } from "./balanced-walk.ts";
import { walkCluster } from "./cluster-walk.ts";
import { clearCluster, podsOf, settings } from "./kubernetes-server.ts";
import { kubernetesProgram, MACHINE, NAMESPACE, openApi, openDriver } from "./kubernetes-world.ts";
import { KUBERNETES_IMAGE } from "./real-kubernetes.ts";
import { LOOK_MS, serverPlace } from "./worker-place.ts";

const SPREAD = {
  MILLRACE_KUBERNETES_GPU_RESOURCE: "millrace.test/spread",
  MILLRACE_KUBERNETES_GPU_LABEL: "millrace.test/product",
};

const programOf = async (name: string) => ({
  image: KUBERNETES_IMAGE,
  cmd: ["--input-type=module", "--eval", await readFile(new URL(`./fixtures/${name}`, import.meta.url), "utf8")],
});

afterAll(clearCluster);

interface Slices extends KubeObject {
  endpoints: { hostname?: string; addresses: string[] }[];
}

/** Each member's name in the cluster's DNS, as the headless Service of the cluster has it. */
async function namesOf(api: KubeApi, namespace: string): Promise<Record<string, string>> {
  const path = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`;
  const { items } = await api.call<KubeList<Slices>>("GET", path);
  const ends = items.flatMap(({ endpoints }) => endpoints ?? []);
  return Object.fromEntries(ends.flatMap(({ hostname, addresses: [one] }) => (hostname ? [[hostname, one!]] : [])));
}

test.concurrent("the members of a cluster are on several nodes, find each other by name, and are placed together or not at all", async ({
  onTestFailed,
}) => {
  const api = openApi();
  const { env, port, namespace } = await settings(SPREAD);
  const program = await programOf("sum-program.mjs");
  await using at = await serverPlace({ program, env, args: ["--port", port], onFailure: onTestFailed });
  const compute = { gpuTypeId: "NVIDIA A40", gpuCountPerPod: 1, podCount: 5 };
  const refused = await at.call("POST", "/v2/clusters", { name: "five", type: "TRAINING", compute, ...program });
  expect([refused.status, refused.json.detail]).toEqual([400, expect.stringContaining("4 of 5 would find room")]);
  expect((await at.call("GET", "/v2/pods")).json.pods).toEqual([]);
  const { pods } = await walkCluster(at, program, {
    more: { mounts: { persistent: { size: 10, path: "/workspace" } }, env: { MARKS: "/workspace" } },
    addresses: async (members) => {
      const found = await Promise.all(members.map((member) => podsOf(api, namespace, member)));
      const live = found.map((all) => all.find(({ status }) => status?.phase === "Running")!);
      expect(new Set(live.map(({ spec }) => spec.nodeName)).size).toBe(2);
      const [primary, member] = live.map(({ status }) => status!.podIP!) as [string, string];
      let names = await namesOf(api, namespace);
      while (names["node-1"] !== member) {
        await stay(LOOK_MS);
        names = await namesOf(api, namespace);
      }
      expect(names).toEqual({ "node-0": primary, "node-1": member });
      return [primary, member];
    },
  });
  for (const pod of pods) while ((await podsOf(api, namespace, pod)).length > 0) await stay(LOOK_MS);
  while (Object.keys(await namesOf(api, namespace)).length > 0) await stay(LOOK_MS);
});

test.concurrent("load balancing through the port forwarding of the API server", async ({ onTestFailed }) => {
  const { env, port } = await settings();
  const program = await programOf("small-app.mjs");
  await using at = await serverPlace({ program, env, args: ["--port", port], onFailure: onTestFailed });
  await walkBalanced(at);
});

test.concurrent("load balancing by address, in a namespace for the account, with a runtime class", async ({
  onTestFailed,
}) => {
  const api = openApi();
  const { env, port, namespace } = await settings({
    MILLRACE_KUBERNETES_DIAL: "address",
    MILLRACE_KUBERNETES_SERVER: `${MACHINE}/32`,
    MILLRACE_KUBERNETES_NAMESPACES: "account",
    MILLRACE_KUBERNETES_RUNTIME_CLASS: "millrace-test",
  });
  const body = {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "millrace-test" },
    handler: "runc",
  };
  await api.call("POST", "/apis/node.k8s.io/v1/runtimeclasses", { body });
  try {
    const program = await programOf("small-app.mjs");
    await using at = await serverPlace({ program, env, args: ["--port", port], onFailure: onTestFailed });
    const endpoint = await walkBalanced(at);
    const { items } = await api.call<KubeList<Pod & { spec: { runtimeClassName?: string } }>>("GET", "/api/v1/pods", {
      query: { labelSelector: `${label.installation}=${namespace}` },
    });
    const own = items.filter(({ metadata }) => metadata.annotations?.[note.owner] === endpoint);
    expect(own.length).toBeGreaterThan(0);
    expect(own.every(({ metadata }) => metadata.namespace!.startsWith(`${namespace}-`))).toBe(true);
    expect(own.every(({ spec }) => spec.runtimeClassName === "millrace-test")).toBe(true);
  } finally {
    await api.call("DELETE", "/apis/node.k8s.io/v1/runtimeclasses/millrace-test").catch(unlessNotFound);
  }
});

/** The nodes of the test cluster answer for addresses like this one, as for those that a cloud gives. */
const BALANCER = "10.217.1.7";

test.concurrent("a published port is reached at the address of a load balancer, at the port that the API tells", async () => {
  const api = openApi();
  const installation = `balancer-${process.pid}`;
  const annotations = { "metallb.io/allow-shared-ip": "millrace" };
  const compute = await openDriver(installation, { services: "LoadBalancer", serviceAnnotations: annotations });
  const id = newId();
  const outside = 31_000 + (process.pid % 1_000);
  await compute.start(id, {
    ...{ kind: "pod", account: "account", owner: "pod", env: {}, ports: [], ...kubernetesProgram([{ echoOn: 8080 }]) },
    limits: { vcpu: 1, memoryMb: 128, diskGb: 1 },
    publish: [{ port: 8080, outside }],
  });
  const { published } = await seen(compute, id, ({ state }) => state === "running");
  expect(published).toEqual([{ inside: 8080, outside }]);
  const path = `/api/v1/namespaces/${NAMESPACE}/services/${podName(id)}`;
  const made = await api.call<KubeObject & { spec: { type: string } }>("GET", path);
  expect([made.spec.type, made.metadata.annotations]).toEqual(["LoadBalancer", annotations]);
  // This is what the controller of a cloud does.
  await api.call("PATCH", `${path}/status`, { body: { status: { loadBalancer: { ingress: [{ ip: BALANCER }] } } } });
  for (let isReached = false; !isReached; await stay(LOOK_MS))
    isReached = await reachAt(BALANCER, outside).then(
      () => true,
      () => false,
    );
  await compute.remove(id);
  await compute[Symbol.asyncDispose]();
});
