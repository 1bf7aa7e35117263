/** What the API server's refusals mean for a start. */
import { expect, test } from "vitest";
import { FakeClock } from "../../kernel/clock.ts";
import { silentLog } from "../../kernel/log.ts";
import { type InstanceSpec, StartRefused } from "../../ports/compute/compute.ts";
import { INTERNET_ALONE } from "../../ports/compute/egress.ts";
import { KubeAway, KubeRefused } from "./kube-api.ts";
import type { KubeObject, Service } from "./kube-objects.ts";
import { type MakerParts, PodMaker, refusalFrom } from "./pod-maker.ts";

test.each([
  [
    403,
    'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1',
    "quota-refused",
  ],
  [
    403,
    'pods is forbidden: User "x" cannot create resource "pods" in API group "" in the namespace "y"',
    "engine-refused",
  ],
  [403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"', "engine-refused"],
  [422, 'Pod "x" is invalid: spec.containers[0].image: Required value', "engine-refused"],
])("%d %s", (status, message, reason) => {
  const refusal = refusalFrom(new KubeRefused(status, "Forbidden", message));
  expect(refusal).toBeInstanceOf(StartRefused);
  expect(refusal).toMatchObject({ reason, message: expect.stringContaining(message) });
});

test("a server that is busy or away refuses nothing", () => {
  for (const error of [new KubeAway("no answer"), new KubeRefused(503, "", "starting")])
    expect(refusalFrom(error)).toBe(error);
});

/** An API server that knows names, and gives each port that nobody chose one of the nodes' ports. */
function fakeApi() {
  const objects = new Map<string, KubeObject>();
  let nodePort = 30_000;
  const labelled = (path: string, wanted: string) =>
    [...objects]
      .filter(([at]) => at.startsWith(`${path}/`))
      .map(([, object]) => object)
      .filter(({ metadata: { labels = {} } }) =>
        wanted.split(",").every((one) => labels[one.split("=")[0]!] === one.split("=")[1]),
      );
  type Asked = { body?: unknown; query?: { labelSelector: string } };
  const call = async (method: string, path: string, { body, query }: Asked = {}) => {
    if (query) return { items: labelled(path, query.labelSelector) };
    if (method === "POST") {
      const made = structuredClone(body) as KubeObject;
      const at = `${path}/${made.metadata.name}`;
      if (objects.has(at)) throw new KubeRefused(409, "AlreadyExists", `${made.metadata.name} already exists`);
      if (path.endsWith("/services")) for (const port of (made as Service).spec.ports) port.nodePort ??= nodePort++;
      objects.set(at, made);
      return made;
    }
    const found = objects.get(path);
    if (!found) throw new KubeRefused(404, "NotFound", "not found");
    if (method === "DELETE") objects.delete(path);
    return found;
  };
  return { objects, call };
}

function setupMaker(api: ReturnType<typeof fakeApi>) {
  const options = {
    ...{ installation: "here", namespace: "ours", egress: INTERNET_ALONE, clock: new FakeClock(), log: silentLog },
    ...{ gpuResource: "gpu", gpuLabel: "gpu", cpuShare: 1, gpuTypes: [], isOperators: () => false },
  };
  const parts = {
    ...{ options, api },
    capacity: { check: async () => {}, productsOf: () => [] },
    groups: { join: (_id: string, _spec: InstanceSpec, make: (fellows: []) => unknown) => make([]) },
    places: { of: () => "ours", ensure: async () => {} },
    end: { removeParts: async () => {} },
  };
  return new PodMaker(parts as unknown as MakerParts);
}

const PUBLISHING: InstanceSpec = {
  ...{ kind: "pod", account: "account", owner: "pod", image: "nginx:1", entrypoint: [], cmd: [], env: {} },
  limits: { vcpu: 1, memoryMb: 512, diskGb: 1 },
  ports: [80],
  publish: [{ port: 80 }],
};

test("a start that was interrupted after its ports were published goes on with these ports", async () => {
  const api = fakeApi();
  const first = await setupMaker(api).make("p1", PUBLISHING);
  api.objects.delete(`/api/v1/namespaces/ours/pods/${first.metadata.name}`);
  const second = await setupMaker(api).make("p1", PUBLISHING);
  expect(second.metadata.annotations).toEqual(first.metadata.annotations);
  expect(JSON.stringify(second.metadata.annotations)).toContain("30000");
});

test("a Service of this name that is not of this installation is not taken", async () => {
  const api = fakeApi();
  const { metadata } = await setupMaker(api).make("p1", PUBLISHING);
  api.objects.delete(`/api/v1/namespaces/ours/pods/${metadata.name}`);
  api.objects.get(`/api/v1/namespaces/ours/services/${metadata.name}`)!.metadata.labels = {};
  await expect(setupMaker(api).make("p1", PUBLISHING)).rejects.toThrow("already exists");
});
