/** Servers whose instances are on the cluster of the tests, each in a namespace of its own. */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { inject } from "vitest";
import { type KubeApi, unlessNotFound } from "../src/adapters/kubernetes/kube-api.ts";
import { type KubeList, note, type Pod } from "../src/adapters/kubernetes/kube-objects.ts";
import { MACHINE, openApi, SHARED } from "./kubernetes-world.ts";

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

/** Removes everything that the servers of this file left on the cluster. */
export async function clearCluster(): Promise<void> {
  const api = openApi();
  for (const namespace of namespaces) await api.call("DELETE", `/api/v1/namespaces/${namespace}`).catch(unlessNotFound);
  api[Symbol.dispose]();
  await rm(SHARED, { recursive: true, force: true });
}

/** Each server has a namespace of its own, which is another cluster for it. */
export async function settings(more: Record<string, string> = {}) {
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
    ...more,
  };
  return { env, port, namespace };
}

export const podsOf = async (api: KubeApi, namespace: string, owner: string) => {
  const { items } = await api.call<KubeList<Pod>>("GET", `/api/v1/namespaces/${namespace}/pods`);
  return items.filter(({ metadata }) => metadata.annotations?.[note.owner] === owner);
};
