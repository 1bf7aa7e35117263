/** The driver with exactly the rights of the chart, on a real cluster: nothing is refused to it, and it uses every one of them. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, inject, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { isForbidden, KubeApi, unlessNotFound } from "../src/adapters/kubernetes/kube-api.ts";
import type { KubernetesCompute } from "../src/adapters/kubernetes/kubernetes-compute.ts";
import { rightsFor, rulesFor } from "../src/adapters/kubernetes/rights.ts";
import type { InstanceSpec } from "../src/ports/compute/compute.ts";
import { newId, seen } from "../src/ports/compute/conformance-world.ts";
import { runLine } from "./cli-shell.ts";
import { kubernetesProgram, openApi, openDriver } from "./kubernetes-world.ts";
import { temporaryFolder } from "./process.ts";
import { KUBERNETES_IMAGE } from "./real-kubernetes.ts";

const NAME = `millrace-rights-${process.pid}`;
const RBAC = "/apis/rbac.authorization.k8s.io/v1";

const meta = (kind: string, more: object) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name: NAME },
  ...more,
});
const roleRef = (kind: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name: NAME });
const subjects = [{ kind: "ServiceAccount", name: NAME, namespace: NAME }];

/** Makes an account with these rights, and returns a kubeconfig of it. */
async function accountWith(api: KubeApi, which: Parameters<typeof rulesFor>[0], folder: string): Promise<string> {
  const { instances, cluster } = rulesFor(which);
  const post = (path: string, body: object) => api.call<{ status: { token: string } }>("POST", path, { body });
  await post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: NAME } });
  await post(`/api/v1/namespaces/${NAME}/serviceaccounts`, {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: NAME },
  });
  await post(`${RBAC}/namespaces/${NAME}/roles`, meta("Role", { rules: instances }));
  await post(`${RBAC}/namespaces/${NAME}/rolebindings`, meta("RoleBinding", { roleRef: roleRef("Role"), subjects }));
  await post(`${RBAC}/clusterroles`, meta("ClusterRole", { rules: cluster }));
  await post(`${RBAC}/clusterrolebindings`, meta("ClusterRoleBinding", { roleRef: roleRef("ClusterRole"), subjects }));
  const { status } = await post(`/api/v1/namespaces/${NAME}/serviceaccounts/${NAME}/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  });
  const config = parse(await readFile(inject("kubeconfig"), "utf8"));
  const file = join(folder, "kubeconfig");
  await writeFile(
    file,
    stringify({ ...config, users: [{ name: config.users[0].name, user: { token: status.token } }] }),
  );
  return file;
}

async function removeAll(api: KubeApi): Promise<void> {
  for (const kind of ["clusterroles", "clusterrolebindings"])
    await api.call("DELETE", `${RBAC}/${kind}/${NAME}`).catch(unlessNotFound);
  await api.call("DELETE", `/api/v1/namespaces/${NAME}`).catch(unlessNotFound);
}

afterAll(async () => {
  vi.restoreAllMocks();
  using api = openApi();
  await removeAll(api);
});

const VERBS = { POST: "create", PATCH: "patch", DELETE: "delete" } as Record<string, string>;

/** What a request asks of the cluster, as its rights name it. */
function rightIn(method: string, path: string, isWatch: boolean): string {
  const [, group = "", rest = ""] = /^\/(?:api|apis\/([^/]+))\/v1(?:beta1)?\/(.*)$/.exec(path) ?? [];
  const [, namespace, inside] = /^namespaces\/([^/]+)\/(.+)$/.exec(rest) ?? [];
  const [resource, name, part] = (inside ?? rest).split("/");
  const read = isWatch ? "watch" : name === undefined ? "list" : "get";
  const where = namespace === undefined ? "cluster" : "instances";
  return `${VERBS[method] ?? read} ${group}/${resource}${part === undefined ? "" : `/${part}`} in ${where}`;
}

/** Notes every request of every driver, and those that were forbidden. */
function recorded() {
  const used = new Set<string>();
  const forbidden = new Set<string>();
  const { call, stream, connect } = KubeApi.prototype;
  const note = <T>(right: string, doing: Promise<T>) => {
    used.add(right);
    return doing.catch((error) => {
      if (isForbidden(error)) forbidden.add(right);
      throw error;
    });
  };
  vi.spyOn(KubeApi.prototype, "call").mockImplementation(function (this: KubeApi, method, path, asked) {
    return note(rightIn(method, path, false), call.call(this, method, path, asked));
  } as typeof call);
  vi.spyOn(KubeApi.prototype, "stream").mockImplementation(function (this: KubeApi, path, asked) {
    return note(rightIn("GET", path, asked.query?.watch !== undefined), stream.call(this, path, asked));
  });
  vi.spyOn(KubeApi.prototype, "connect").mockImplementation(function (this: KubeApi, path, query, protocol) {
    return note(rightIn("GET", path, false), connect.call(this, path, query, protocol));
  });
  return { used, forbidden };
}

const spec = (more: Partial<InstanceSpec> = {}): InstanceSpec => ({
  kind: "pod",
  account: "account",
  owner: "pod",
  ...kubernetesProgram([{ write: "hello\n" }, { echoOn: 8080 }]),
  env: { A: "1" },
  limits: { vcpu: 1, memoryMb: 128, diskGb: 1 },
  ports: [8080],
  ...more,
});

/** Everything that a driver can do, once. */
async function walk(compute: KubernetesCompute): Promise<void> {
  const group = { id: "g", name: "m0", names: ["m0"] };
  await compute.networks.reserve({ account: "account", id: "g", image: KUBERNETES_IMAGE, names: group.names });
  await compute.networks.list();
  const id = newId();
  await compute.start(id, spec({ publish: [{ port: 8080 }], credential: { username: "u", password: "p" } }));
  await seen(compute, id, ({ state }) => state === "running");
  const log = compute.logs(id, { signal: new AbortController().signal })[Symbol.asyncIterator]();
  await log.next();
  await log.return?.(undefined);
  const execution = await compute.exec.run(id, { cmd: ["true"] });
  execution.stdout.resume();
  execution.stderr.resume();
  await execution.exit;
  (await compute.dial(id, 8080)).destroy();
  await compute.capacity();
  await compute.stats.of(id);
  await compute.stop(id, 20_000);
  await compute.remove(id);
  await compute.remove(newId());
  await compute.networks.release({ account: "account", id: "g" });
  await compute.volumes!.create({ id: "vol1", sizeGb: 1 });
  await compute.volumes!.remove("vol1");
}

test("the driver uses every right of the chart, and none besides", async () => {
  using api = openApi();
  await using folder = await temporaryFolder();
  const which = { perAccount: false, nodeUsage: true, claims: true };
  const kubeconfig = await accountWith(api, which, folder.path);
  const options = { kubeconfig, namespace: NAME, volumes: { storageClass: "none", sharedClass: undefined } };
  const { used, forbidden } = recorded();
  // The second one finds the policy of the first, and brings it up to date.
  await (await openDriver(NAME, options))[Symbol.asyncDispose]();
  const compute = await openDriver(NAME, options);
  await walk(compute);
  await compute[Symbol.asyncDispose]();
  vi.restoreAllMocks();
  const given = rightsFor(which).flatMap(({ group, resource, where, verbs }) =>
    Object.keys(verbs).map((verb) => `${verb} ${group}/${resource} in ${where}`),
  );
  // An account that was given a namespace may not look at namespaces, which counts as that it is there.
  const LOOKED = "get /namespaces in cluster";
  expect([...forbidden]).toEqual([LOOKED]);
  expect([...used].filter((one) => !given.includes(one) && one !== LOOKED)).toEqual([]);
  const unseen = given.filter((one) => !used.has(one)).sort();
  expect(unseen).toEqual([
    // Newer versions of Kubernetes check both for a WebSocket, which is a GET.
    "create /pods/exec in instances",
    "create /pods/portforward in instances",
    // Asked in the place of nodes/proxy, where that is not given.
    "get metrics.k8s.io/pods in instances",
  ]);
  const { out } = await runLine(
    {},
    `millrace check --kubeconfig ${kubeconfig} --kubernetes-namespace ${NAME} --worker-url http://x:1 --kubernetes-storage-class none`,
  );
  expect(out).toContain("ok    rights: all 34 are there");
  expect(out).toContain("ok    further rights: all 3 are there");
  await rm(kubeconfig);
});
