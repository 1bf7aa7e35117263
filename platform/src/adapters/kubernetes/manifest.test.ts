/** The objects that make an instance. */
import { expect, test } from "vitest";
import type { InstanceSpec } from "../../ports/compute/compute.ts";
import { INTERNET_ALONE } from "../../ports/compute/egress.ts";
import { quantity } from "./kube-objects.ts";
import {
  environmentSecret,
  groupLabel,
  memberHost,
  networkService,
  type PodPlace,
  podManifest,
  portsService,
  pullSecret,
} from "./manifest.ts";
import { groupPolicy, instancesPolicy } from "./policies.ts";

const spec: InstanceSpec = {
  kind: "pod",
  account: "account",
  owner: "p1",
  image: "r.example/x@sha256:1",
  entrypoint: [],
  cmd: ["say", "$(HOME) $$(HOME) $HOME"],
  env: { TOKEN: "secret" },
  limits: { vcpu: 2, memoryMb: 512, diskGb: 5 },
  ports: [80],
};
const place: PodPlace = {
  installation: "one",
  namespace: "millrace",
  cpuShare: 0.5,
  gpuResource: "nvidia.com/gpu",
  gpuLabel: "nvidia.com/gpu.product",
  gpuProducts: ["NVIDIA-L4"],
  volumes: [],
  published: [],
  fellows: [],
  namesImage: "busybox",
  isOperators: false,
  lostS: 30,
};

test("a program has no privileges, no token of the cluster and no variables that others can read", () => {
  const made = podManifest("i1", spec, place);
  expect(made.spec).toMatchObject({
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { seccompProfile: { type: "RuntimeDefault" } },
  });
  const [main] = made.spec.containers;
  expect(main!.securityContext).toEqual({
    privileged: false,
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["NET_RAW", "MKNOD"] },
  });
  expect(JSON.stringify(made)).not.toContain('secret"');
  expect(environmentSecret("i1", spec, place).data).toEqual({ TOKEN: Buffer.from("secret").toString("base64") });
});

test("it gets its limits, and requests the share of the processors that the operator set", () => {
  const [main] = podManifest("i1", spec, place).spec.containers;
  expect(main!.resources).toEqual({
    limits: { cpu: "2000m", memory: "512Mi", "ephemeral-storage": "5120Mi" },
    requests: { cpu: "1000m", memory: "512Mi", "ephemeral-storage": "5120Mi" },
  });
});

test("Kubernetes replaces nothing in its command", () => {
  expect(podManifest("i1", spec, place).spec.containers[0]!.args).toEqual(["say", "$$(HOME) $$$$(HOME) $$HOME"]);
});

test("GPUs are asked for by resource and product, on the node that was chosen", () => {
  const made = podManifest("i1", { ...spec, gpu: { type: "NVIDIA L4", count: 2 }, box: "node-a" }, place);
  expect(made.spec.containers[0]!.resources.limits).toMatchObject({ "nvidia.com/gpu": "2" });
  expect(made.spec.affinity?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms).toEqual([
    {
      matchFields: [{ key: "metadata.name", operator: "In", values: ["node-a"] }],
      matchExpressions: [{ key: "nvidia.com/gpu.product", operator: "In", values: ["NVIDIA-L4"] }],
    },
  ]);
});

test("a member of a cluster has a name in the cluster's DNS, and its own address in the variables that name it", () => {
  const group = { id: "c1", name: "node-0", isReserved: true };
  const key = groupLabel("account", "c1");
  const host = memberHost(key, "node-0");
  const env = { NODE_ADDR: host, HOST_NODE_ADDR: `${host}:29500`, OTHER: memberHost(key, "node-1") };
  const made = podManifest("i1", { ...spec, group, env }, place);
  const { name } = networkService(key, place).metadata;
  expect(made.spec).toMatchObject({ hostname: "node-0", subdomain: name });
  expect(made.spec.containers[0]).toMatchObject({
    env: [
      { name: "NODE_ADDR", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "HOST_NODE_ADDR", value: "$(NODE_ADDR):29500" },
    ],
  });
  // A member may have all that its node has left, so nothing beside its program asks for more.
  expect(made.spec.initContainers?.[0]?.resources.requests).toEqual({ cpu: "0", memory: "0" });
});

test("volumes are folders of the shared storage, or a claim each", () => {
  const source = { persistentVolumeClaim: { claimName: "volumes" } };
  const folders = [
    { name: "volumes", source, path: "/workspace", subPath: "v1" },
    { name: "volumes", source, path: "/data", subPath: "v2" },
  ];
  const made = podManifest("i1", spec, { ...place, volumes: folders }).spec;
  expect(made.containers[0]!.volumeMounts).toContainEqual({ name: "volumes", mountPath: "/data", subPath: "v2" });
  expect(made.volumes.filter(({ name }) => name === "volumes")).toEqual([{ name: "volumes", ...source }]);
  expect(made.securityContext).not.toHaveProperty("fsGroup");
  const claims = [{ name: "c1", source: { persistentVolumeClaim: { claimName: "c1" } }, path: "/workspace" }];
  const claimed = podManifest("i1", spec, { ...place, volumes: claims }).spec;
  expect(claimed.containers[0]!.volumeMounts).toContainEqual({ name: "c1", mountPath: "/workspace" });
  expect(claimed.securityContext).toHaveProperty("fsGroup");
});

test("a registry's login is a pull secret for that registry", () => {
  const secret = pullSecret("i1", spec, { username: "u", password: "p" }, place);
  const { auths } = JSON.parse(Buffer.from(secret.data[".dockerconfigjson"], "base64").toString());
  expect(auths).toEqual({ "r.example": { username: "u", password: "p", auth: Buffer.from("u:p").toString("base64") } });
});

test("a published port is a Service of the wanted type", () => {
  const { spec: made } = portsService("i1", [{ port: 80, outside: 30_080 }], place, { type: "NodePort" });
  expect(made).toMatchObject({ type: "NodePort", ports: [{ port: 80, targetPort: 80, nodePort: 30_080 }] });
  const annotations = { "metallb.io/allow-shared-ip": "millrace" };
  const balanced = portsService("i1", [{ port: 80, outside: 30_080 }], place, { type: "LoadBalancer", annotations });
  expect(balanced.metadata.annotations).toEqual(annotations);
  expect(balanced.spec.ports).toMatchObject([{ port: 30_080, targetPort: 80, nodePort: 30_080 }]);
});

test("instances reach the internet and no private address but those that are named; members reach their group", () => {
  const egress = { reachable: ["10.1.0.0/16" as const], doors: [{ address: "10.0.0.5", port: 7420 }], nameServers: [] };
  const text = JSON.stringify(instancesPolicy(place, egress, { peers: [] }));
  for (const part of [
    '"cidr":"0.0.0.0/0","except":["0.0.0.0/8","10.0.0.0/8"',
    '"10.1.0.0/16"',
    '"10.0.0.5/32"',
    '"ingress":[]',
  ])
    expect(text).toContain(part);
  const members = { podSelector: { matchLabels: { "millrace.dev/group": "key" } } };
  expect(groupPolicy(place, "key").spec).toMatchObject({ ...members, ingress: [{ from: [members] }] });
});

test("instances reach the server at its own ports alone, since its database may be beside it", () => {
  const peers = [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "millrace-system" } } }];
  const { spec } = instancesPolicy(place, INTERNET_ALONE, { peers, ports: [80, 7420] });
  const to = (spec as { egress: { to: object[] }[] }).egress.filter((rule) =>
    JSON.stringify(rule.to).includes("system"),
  );
  expect(to).toContainEqual({
    to: peers,
    ports: [
      { protocol: "TCP", port: 80 },
      { protocol: "TCP", port: 7420 },
    ],
  });
  expect(to.every((rule) => "ports" in rule)).toBe(true);
});

test.each([
  ["500m", 0.5],
  ["2", 2],
  ["1Gi", 2 ** 30],
  ["24682416Ki", 24682416 * 1024],
  ["1e3", 1000],
  [undefined, 0],
  ["x", 0],
])("the quantity %s is %d", (text, value) => {
  expect(quantity(text)).toBe(value);
});
