/** The world of the Kubernetes driver's tests: drivers for separate installations on one cluster, and programs for their Pods. */
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { KubeApi, unlessNotFound } from "../src/adapters/kubernetes/kube-api.ts";
import { type ConfigMap, type KubeList, label, podName } from "../src/adapters/kubernetes/kube-objects.ts";
import { KubernetesCompute, type KubernetesOptions } from "../src/adapters/kubernetes/kubernetes-compute.ts";
import { VolumeFolders } from "../src/adapters/machine/volume-folders.ts";
import { realClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { realRandom } from "../src/kernel/random.ts";
import type { InstanceSpec } from "../src/ports/compute/compute.ts";
import type { Step } from "../src/ports/compute/conformance-world.ts";
import { INTERNET_ALONE } from "../src/ports/compute/egress.ts";
import { KUBERNETES_IMAGE } from "./real-kubernetes.ts";

export const NAMESPACE = "millrace-tests";
/** The nodes of the test cluster are on this machine, so its folders are storage that all of them share. */
export const SHARED = join(tmpdir(), `millrace-kubernetes-${process.pid}`);
/** The machine's end of the bridge to the nodes. */
export const MACHINE = "10.217.0.1";
export const NODE = "10.217.0.11";
export const GPU_TYPES = ["NVIDIA L4", "NVIDIA A40"];

export const kubernetesProgram = (steps: readonly Step[]): Pick<InstanceSpec, "image" | "entrypoint" | "cmd"> => ({
  image: KUBERNETES_IMAGE,
  entrypoint: [],
  cmd: ["/conformance-program.mjs", JSON.stringify(steps)],
});

export const openDriver = (installation: string, more: Partial<KubernetesOptions> = {}): Promise<KubernetesCompute> => {
  const folders = new VolumeFolders({ folder: join(SHARED, installation), clock: realClock, random: realRandom });
  return KubernetesCompute.open({
    kubeconfig: inject("kubeconfig"),
    installation,
    namespace: NAMESPACE,
    dial: "forward",
    server: [],
    egress: INTERNET_ALONE,
    // Many programs wait at once on few processors.
    cpuShare: 0.05,
    gpuTypes: GPU_TYPES,
    nodeImages: ["millrace.test/*"],
    plainRegistries: Array.from({ length: 16 }, (_, n) => `${MACHINE}:${5001 + n}`),
    namesImage: "millrace.test/busybox:1",
    volumes: { folders, source: { hostPath: { path: join(SHARED, installation) } } },
    lostS: 5,
    clock: realClock,
    log: silentLog,
    ...more,
  });
};

export const openApi = () => new KubeApi({ kubeconfig: inject("kubeconfig"), clock: realClock });

/** What is left of an instance: objects of the cluster, and processes, since the nodes are on this machine. */
export async function remainsOf(api: KubeApi, id: string): Promise<string[]> {
  const name = podName(id);
  const core = `/api/v1/namespaces/${NAMESPACE}`;
  const paths = [
    `${core}/pods/${name}`,
    `${core}/secrets/${name}`,
    `${core}/secrets/${name}-pull`,
    `${core}/services/${name}`,
    `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies/${name}`,
  ];
  const found = await Promise.all(paths.map((path) => api.call("GET", path).catch(unlessNotFound)));
  return [...paths.filter((_, index) => found[index] !== undefined), ...(await processesOf(name))];
}

/** The runtime puts the Pod's host name into the environment of each of its processes. */
async function processesOf(hostname: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(`HOSTNAME=${hostname}`) ? [`process ${pid}`] : [];
    }),
  );
  return found.flat();
}

export async function groupsLeft(api: KubeApi, installation: string): Promise<string[]> {
  const query = { labelSelector: `${label.installation}=${installation},${label.group}` };
  const paths = [
    `/api/v1/namespaces/${NAMESPACE}/configmaps`,
    `/apis/networking.k8s.io/v1/namespaces/${NAMESPACE}/networkpolicies`,
  ];
  const lists = await Promise.all(paths.map((path) => api.call<KubeList<ConfigMap>>("GET", path, { query })));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
}
