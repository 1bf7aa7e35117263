/** `millrace check` against a stand-in for a cluster's API. platform/tests/kubernetes-rights.real.test.ts runs it on a real one. */

import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { expect, test } from "vitest";
import { runWords, shellFor } from "../../platform/tests/cli-shell.ts";
import { temporaryFolder } from "../../platform/tests/process.ts";

interface Attributes {
  verb: string;
  resource: string;
  subresource?: string;
  namespace?: string;
}

interface World {
  version?: string;
  /** Which rights the account does not have. */
  lacks?: (asked: Attributes) => boolean;
  labels?: Record<string, string>;
  plugin?: string;
  /** What the API server answers to paths that end so. */
  answers?: Record<string, { status?: number; body: unknown }>;
}

const FINE = {
  "/version": { major: "1", minor: "32", gitVersion: "v1.32.13" },
  "/namespaces/inst": { metadata: { name: "inst" }, status: { phase: "Active" } },
  "/apis/metrics.k8s.io/v1beta1": {},
  "/persistentvolumeclaims/shared": { spec: { accessModes: ["ReadWriteMany"] }, status: { phase: "Bound" } },
  "/storageclasses": { items: [{ metadata: { name: "fast" }, provisioner: "csi.example" }], metadata: {} },
};

function answerOf(world: World, path: string, posted: unknown): { status?: number; body: unknown } {
  const { version = "32", lacks = () => false, plugin = "cilium-x1", labels } = world;
  const given = Object.entries(world.answers ?? {}).find(([end]) => path.endsWith(end))?.[1];
  if (given) return given;
  if (path.endsWith("/selfsubjectaccessreviews")) {
    const { spec } = posted as { spec: { resourceAttributes: Attributes } };
    return { body: { status: { allowed: !lacks(spec.resourceAttributes) } } };
  }
  if (path === "/version") return { body: { major: "1", minor: version, gitVersion: `v1.${version}.0` } };
  if (path === "/api/v1/pods") return { body: { metadata: {}, items: [{ metadata: { name: plugin }, spec: {} }] } };
  if (path === "/api/v1/nodes") {
    const metadata = { name: "n1", labels: labels ?? { "nvidia.com/gpu.product": "NVIDIA-L4" } };
    const status = { allocatable: { "nvidia.com/gpu": "2" }, conditions: [{ type: "Ready", status: "True" }] };
    return { body: { metadata: {}, items: [{ metadata, spec: {}, status }] } };
  }
  const fine = Object.entries(FINE).find(([end]) => path.endsWith(end))?.[1];
  return { body: fine ?? {} };
}

async function check(world: World, ...flags: string[]) {
  await using folder = await temporaryFolder();
  const asked: string[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    const { pathname, search } = new URL(request.url!, "http://x");
    asked.push(`${request.method} ${pathname}${search}`);
    const posted = request.method === "POST" ? json(request) : Promise.resolve(undefined);
    posted.then(
      (body) => {
        const answer = answerOf(world, pathname, body);
        response.writeHead(answer.status ?? 200, { "content-type": "application/json" });
        response.end(JSON.stringify(answer.body));
      },
      (error) => response.destroy(error),
    );
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const file = join(folder.path, "kubeconfig");
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const parts = {
    clusters: [{ name: "c", cluster: { server: at, "insecure-skip-tls-verify": true } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  };
  await writeFile(file, JSON.stringify({ ...parts, users: [{ name: "u", user: {} }], "current-context": "c" }));
  const { shell, out } = shellFor({});
  const words = ["check", "--kubeconfig", file, "--kubernetes-namespace", "inst", ...flags];
  const failure = await runWords(shell, words).then(
    () => undefined,
    (error: Error) => error.message,
  );
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { text: out(), failure, asked };
}

const ALL = ["--worker-url", "http://m:7420", "--kubernetes-volumes", "claim:shared"];

test("a cluster that has everything is well, and nothing is changed there", async () => {
  const { text, failure, asked } = await check({}, ...ALL);
  expect(failure).toBeUndefined();
  expect(text.split("\n").filter((line) => !/^ok {4}/.test(line))).toEqual([""]);
  expect(text).toContain("ok    GPUs: 2x NVIDIA-L4");
  const changing = asked.filter((one) => !one.startsWith("GET ") && !one.includes("selfsubjectaccessreviews"));
  expect(changing).toEqual(["POST /api/v1/namespaces/inst/pods?dryRun=All"]);
});

test("missing rights are named with their place, and so is what is lost without the further ones", async () => {
  const lacks = ({ verb, resource, subresource }: Attributes) =>
    (resource === "secrets" && verb !== "list") || subresource === "proxy";
  const { text, failure } = await check({ lacks }, ...ALL);
  expect(text).toContain(
    "fail  rights: missing: create, patch, delete of secrets in inst\n      Give them to this account: docs/kubernetes.md#rights has the YAML.",
  );
  expect(text).toContain(
    "warn  further rights: missing: get of nodes/proxy in the cluster. So processor time and disk usage are not shown",
  );
  expect(failure).toBe("1 of 11 things are wrong");
});

test("with a namespace for each account the rights are asked for the whole cluster", async () => {
  const lacks = ({ namespace }: Attributes) => namespace !== undefined;
  const { text } = await check({ lacks }, "--worker-url", "http://m:7420", "--kubernetes-namespaces", "account");
  expect(text).toMatch(/^ok {4}rights: all 32 are there$/m);
});

test.each([
  ["an old version", { version: "29" }, "fail  cluster: Kubernetes v1.29.0 is too old"],
  ["GPUs without a product", { labels: {} }, "fail  GPUs: n1: GPUs without the label nvidia.com/gpu.product"],
  [
    "a GPU that the catalog lacks",
    { labels: { "nvidia.com/gpu.product": "Odd-1" } },
    "warn  GPUs: Odd-1: products that the catalog does not have",
  ],
  [
    "a plugin that enforces nothing",
    { plugin: "kube-flannel-ds-1" },
    "fail  network policies: flannel does not enforce them",
  ],
  ["a plugin that nobody knows", { plugin: "other" }, "warn  network policies: no known network plugin was found"],
  [
    "no metrics",
    { answers: { "/metrics.k8s.io/v1beta1": { status: 404, body: {} } } },
    "warn  metrics: there is no metrics API (404)",
  ],
  [
    "a missing namespace",
    {
      answers: { "/namespaces/inst": { status: 404, body: {} } },
      lacks: ({ resource }: Attributes) => resource === "namespaces",
    },
    "fail  namespace: inst is not there\n      Make it: kubectl create namespace inst",
  ],
  [
    "a claim for one node",
    { answers: { "/persistentvolumeclaims/shared": { body: { spec: { accessModes: ["ReadWriteOnce"] } } } } },
    "fail  volumes: the claim shared can be mounted by one node only (ReadWriteOnce)",
  ],
  [
    "a claim that is not there",
    { answers: { "/persistentvolumeclaims/shared": { status: 404, body: {} } } },
    "fail  volumes: there is no claim shared in inst",
  ],
  [
    "a quota",
    { answers: { "/namespaces/inst/pods": { status: 403, body: { message: "exceeded quota: small" } } } },
    "fail  a Pod: inst refuses one: exceeded quota: small\n      Raise or remove the quota",
  ],
  [
    "Pod security",
    {
      answers: {
        "/namespaces/inst/pods": { status: 403, body: { message: 'violates PodSecurity "restricted:latest"' } },
      },
    },
    "pod-security.kubernetes.io/enforce=baseline",
  ],
] as [string, World, string][])("%s is said with what to do", async (_, world, expected) => {
  const { text, failure } = await check(world, ...ALL);
  expect(text).toContain(expected);
  expect(failure !== undefined).toBe(text.includes("fail  "));
});

test("storage classes that are named must be there, and claims need rights of their own", async () => {
  const flags = ["--worker-url", "http://m:7420", "--kubernetes-storage-class", "fast"];
  const fine = await check({}, ...flags);
  expect(fine.text).toContain("ok    volumes: claims of fast");
  expect(fine.text).toContain("ok    rights: all 34 are there");
  const { text } = await check({}, ...flags, "--kubernetes-shared-class", "none");
  expect(text).toContain("fail  volumes: there is no storage class none; storage classes: fast (csi.example)");
});

test("without storage the classes of the cluster are named, and JSON has the same findings", async () => {
  const { text, failure } = await check({}, "--worker-url", "http://m:7420", "--json");
  const { checks } = JSON.parse(text) as { checks: { name: string; state: string; says: string }[] };
  expect(checks.find(({ name }) => name === "volumes")).toMatchObject({
    state: "warn",
    says: "Pods with volumes are refused: no storage is set; storage classes: fast (csi.example)",
  });
  expect([checks.length, failure]).toEqual([11, undefined]);
});
