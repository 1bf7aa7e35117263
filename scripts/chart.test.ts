/** The Helm chart: what it makes of sets of values, as Helm itself rendered them, and whether its rights are those that the driver uses. */
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { label } from "../platform/src/adapters/kubernetes/kube-objects.ts";
import { rulesFor } from "../platform/src/adapters/kubernetes/rights.ts";
import { allSettings } from "../platform/src/settings/settings.ts";
import { CHART, headFor, helmVersion, lint, render, renderingOf, samples, valuesOf, withRights } from "./chart.ts";

interface Objekt {
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another shape, and the tests say which parts they expect.
  [part: string]: any;
}

const read = (path: string) => readFileSync(path, "utf8");
const objectsOf = (sample: string) =>
  parseAllDocuments(read(renderingOf(sample)))
    .map((document) => document.toJS() as Objekt | null)
    .filter((one) => one !== null);
const only = (sample: string, kind: string) => objectsOf(sample).filter((one) => one.kind === kind);
const one = (sample: string, kind: string) => {
  const found = only(sample, kind);
  expect(found).toHaveLength(1);
  return found[0]!;
};
const podOf = (sample: string) => one(sample, "Deployment").spec.template.spec;
const envOf = (sample: string): Record<string, string | undefined> =>
  Object.fromEntries(
    podOf(sample).containers[0].env.map(({ name, value }: { name: string; value?: string }) => [name, value]),
  );

test.each(samples())("the rendering of %s was made from the chart as it is now", (sample) => {
  const [head] = read(renderingOf(sample)).split(/(?<=\n)/);
  expect(head, "run 'npx node scripts/chart.ts' where Helm is, and commit what it writes").toBe(headFor(sample));
});

const version = helmVersion();

// The test above fails if the chart was changed where there is no Helm, so nothing is missed there.
test.skipIf(!version).each(samples())("Helm lints %s and renders it as it is here", (sample) => {
  expect(lint(sample)).toContain("0 chart(s) failed");
  expect(render(sample)).toBe(read(renderingOf(sample)));
});

test.skipIf(!version)("Helm refuses values that do not fit together, with the reason", () => {
  const refused = (...set: string[]) => {
    try {
      return render("least", ...set.flatMap((pair) => ["--set", pair]));
    } catch (error) {
      return (error as { stderr: string }).stderr;
    }
  };
  expect(refused("volumes.claim=c")).toContain(
    "instances.namespace must be the namespace of the release (millrace-system)",
  );
  expect(refused("volumes.claim=c", "volumes.nfs.server=s", "volumes.nfs.path=/p")).toContain(
    "claim, nfs, or storage classes",
  );
  expect(refused("volumes.claim=c", "volumes.storageClass=s")).toContain("claim, nfs, or storage classes");
  expect(refused("volumes.storageClass=s", "instances.perAccount=true")).toContain("without perAccount");
  expect(refused("ingress.enabled=true")).toContain("ingress.enabled needs publicUrl");
  expect(refused("ingress.tls.wildcardSecretName=x")).toContain("needs domain");
  expect(refused("replicas=0")).toContain("replicas");
  expect(refused("unknown=1")).toContain("unknown");
});

if (!version)
  console.log("The chart was not rendered again: there is no Helm here. Its committed renderings were tested.");

const schema = JSON.parse(read(`${CHART}/values.schema.json`));
const validate = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  strictTypes: false,
  strictRequired: false,
}).compile(schema);
const defaults = () => parse(read(`${CHART}/values.yaml`));

test("the schema takes the defaults with a Secret, and each sample", () => {
  expect(
    validate({ ...defaults(), secret: { ...defaults().secret, name: "millrace" } }),
    JSON.stringify(validate.errors),
  ).toBe(true);
  for (const sample of samples())
    expect(validate(parse(read(valuesOf(sample)))), JSON.stringify(validate.errors)).toBe(true);
});

test("the schema refuses what cannot work", () => {
  const secret = { name: "millrace" };
  const wrong = [
    {},
    { secret: { name: "" } },
    { secret, replicas: 0 },
    { secret, replica: 2 },
    { secret, image: { tags: "1" } },
    { secret, publicUrl: "millrace.example.com" },
    { secret, domain: "*.example.com" },
    { secret, settings: { LOG_LEVEL: "debug" } },
    { secret, instances: { namespace: "Not A Name" } },
    { secret, instances: { services: "ClusterIP" } },
    { secret, volumes: { nfs: { server: "s", path: "" } } },
    { secret, ssh: { address: "ssh.example.com" } },
    { secret, podDisruptionBudget: { maxUnavailable: 0 } },
    { secret, data: { sizeLimit: "much" } },
  ];
  expect(wrong.filter((values) => validate(values))).toEqual([]);
});

test("every value has a line in the schema and is used by a template, and every template uses only values that exist", () => {
  const templates = [
    "deployment",
    "service",
    "ingress",
    "disruption-budget",
    "network-policy",
    "service-account",
    "namespace",
    "rbac",
  ]
    .map((name) => read(`${CHART}/templates/${name}.yaml`))
    .concat(read(`${CHART}/templates/_helpers.tpl`))
    .join("\n");
  const used = new Set([...templates.matchAll(/\.Values\.(\w+)/g)].map(([, name]) => name!));
  expect([...used].sort()).toEqual(Object.keys(defaults()).sort());
  expect(
    Object.keys(schema.properties)
      .filter((name) => name !== "global")
      .sort(),
  ).toEqual(Object.keys(defaults()).sort());
});

test.each([
  ["least", { perAccount: false, nodeUsage: false, claims: false }],
  ["company", { perAccount: false, nodeUsage: true, claims: false }],
  ["classes", { perAccount: false, nodeUsage: false, claims: true }],
  ["accounts", { perAccount: true, nodeUsage: false, claims: false }],
])("the roles of %s give exactly the rights that the driver uses", (sample, which) => {
  const sorted = (rules: { resources: string[]; apiGroups: string[]; verbs: string[] }[]) =>
    rules.map(({ apiGroups, resources, verbs }) => `${apiGroups} ${resources}: ${verbs.toSorted()}`).sort();
  const { instances, cluster } = rulesFor(which);
  expect(sorted(one(sample, "ClusterRole").rules)).toEqual(sorted(cluster));
  expect(only(sample, "Role").flatMap(({ rules }) => sorted(rules))).toEqual(sorted(instances));
  for (const binding of [...only(sample, "RoleBinding"), ...only(sample, "ClusterRoleBinding")])
    expect(binding.subjects).toEqual([
      { kind: "ServiceAccount", name: podOf(sample).serviceAccountName, namespace: "millrace-system" },
    ]);
});

test("who gives the rights by hand gets no roles, and names the account", () => {
  const kinds = objectsOf("together").map(({ kind }) => kind);
  for (const kind of ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ServiceAccount"])
    expect(kinds).not.toContain(kind);
  expect(podOf("together").serviceAccountName).toBe("mine");
});

test.each(samples())(
  "servers of %s run as nobody on a read-only disk, with probes, and know their settings",
  (sample) => {
    const pod = podOf(sample);
    const [container, ...others] = pod.containers;
    expect(others).toEqual([]);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "http" });
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "http" });
    expect(container.startupProbe.httpGet.path).toBe("/healthz");
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(container.lifecycle.preStop.sleep.seconds);
    const known = new Set(allSettings.map(({ variable }) => variable));
    expect(Object.keys(envOf(sample)).filter((name) => name !== "POD_IP" && !known.has(name))).toEqual([]);
    expect(JSON.stringify(container.env)).not.toContain('DATABASE_URL"');
  },
);

test.each(samples())("labels select the same servers everywhere in %s", (sample) => {
  const deployment = one(sample, "Deployment");
  const selected = deployment.spec.selector.matchLabels;
  expect(deployment.spec.template.metadata.labels).toMatchObject(selected);
  const selectors = [
    ...only(sample, "Service").map(({ spec }) => spec.selector),
    ...only(sample, "PodDisruptionBudget").map(({ spec }) => spec.selector.matchLabels),
    ...only(sample, "NetworkPolicy").map(({ spec }) => spec.podSelector.matchLabels),
    ...(podOf(sample).topologySpreadConstraints ?? []).map((each: Objekt) => each.labelSelector.matchLabels),
  ];
  for (const selector of selectors) expect(selector).toEqual(selected);
  const [, name, value] = /^millrace-system:(.*)=(.*)$/.exec(envOf(sample).MILLRACE_KUBERNETES_SERVER!)!;
  expect(selected[name!]).toBe(value);
});

test("with the least values there are two servers, apart from their instances, and nobody outside reaches them by HTTP", () => {
  expect(one("least", "Deployment").spec.replicas).toBe(2);
  expect(one("least", "PodDisruptionBudget").spec.maxUnavailable).toBe(1);
  expect(podOf("least").topologySpreadConstraints).toHaveLength(2);
  const namespace = one("least", "Namespace");
  expect([namespace.metadata.name, namespace.metadata.annotations]).toEqual([
    "millrace-instances",
    { "helm.sh/resource-policy": "keep" },
  ]);
  expect(envOf("least")).toMatchObject({
    MILLRACE_COMPUTE: "kubernetes",
    MILLRACE_KUBERNETES_NAMESPACE: "millrace-instances",
    MILLRACE_WORKER_URL: "http://millrace.millrace-system.svc:7420",
    MILLRACE_SSH_PORT: "7422",
  });
  expect(only("least", "Ingress")).toEqual([]);
  expect(only("least", "Service").map(({ spec }) => spec.type)).toEqual(["ClusterIP", "LoadBalancer"]);
});

test("a company has TLS for its host and for the wildcard domain, and names who may connect", () => {
  const { spec } = one("company", "Ingress");
  expect(spec.tls.map(({ hosts, secretName }: Objekt) => [hosts, secretName])).toEqual([
    [["millrace.example.com"], "millrace-tls"],
    [["*.pods.example.com"], "pods-tls"],
  ]);
  expect(spec.rules.map(({ host }: Objekt) => host)).toEqual(["millrace.example.com", "*.pods.example.com"]);
  const policy = one("company", "NetworkPolicy").spec;
  expect(policy.policyTypes).toEqual(["Ingress", "Egress"]);
  expect(policy.ingress[0].from).toHaveLength(3);
  expect(policy.ingress[0].from[2].podSelector.matchLabels).toEqual({ [label.installation]: "millrace-instances" });
  expect(policy.ingress[1]).toEqual({
    ports: [{ protocol: "TCP", port: 7422 }],
    from: [{ ipBlock: { cidr: "10.0.0.0/8" } }],
  });
  expect(policy.egress).toHaveLength(4);
  expect(envOf("company")).toMatchObject({
    MILLRACE_DOMAIN: "pods.example.com",
    MILLRACE_SSH_ADDRESS: "ssh.example.com:22",
    MILLRACE_KUBERNETES_VOLUMES: "nfs://nfs.example.com/millrace",
    MILLRACE_VOLUMES: "/volumes",
    MILLRACE_LOG_DAYS: "30",
  });
  expect(podOf("company").volumes.at(-1)).toEqual({
    name: "volumes",
    nfs: { server: "nfs.example.com", path: "/millrace" },
  });
});

test("a namespace for each account needs no namespace beforehand, and parts that are turned off are not there", () => {
  const kinds = objectsOf("accounts").map(({ kind }) => kind);
  expect(kinds.sort()).toEqual(["ClusterRole", "ClusterRoleBinding", "Deployment", "Service", "ServiceAccount"]);
  expect(envOf("accounts")).toMatchObject({ MILLRACE_KUBERNETES_NAMESPACES: "account", MILLRACE_SSH_PORT: "off" });
});

test("servers and instances in one namespace share a claim", () => {
  expect(only("together", "Namespace")).toEqual([]);
  expect(envOf("together")).toMatchObject({
    MILLRACE_KUBERNETES_VOLUMES: "claim:shared",
    MILLRACE_SSH_ADDRESS: "millrace.example.com:22",
  });
  expect(one("together", "Ingress").spec.tls).toBeUndefined();
});

test("storage classes make a claim for each volume, which the servers need not mount", () => {
  expect(envOf("classes")).toMatchObject({
    MILLRACE_KUBERNETES_STORAGE_CLASS: "fast",
    MILLRACE_KUBERNETES_SHARED_CLASS: "shared",
    MILLRACE_METRICS_ADDRESS: "0.0.0.0:9464",
  });
  expect(podOf("classes").volumes.map(({ name }: { name: string }) => name)).toEqual(["data", "tmp", "secret"]);
  const { ingress } = one("classes", "NetworkPolicy").spec;
  expect(ingress.at(-1)).toEqual({
    ports: [{ protocol: "TCP", port: 9464 }],
    from: [{ podSelector: { matchLabels: { app: "prometheus" } } }],
  });
});

test("docs/kubernetes.md has the rights of the driver", () => {
  const page = read(new URL("../docs/kubernetes.md", import.meta.url).pathname);
  expect(page, "run 'npx node scripts/chart.ts'").toBe(withRights(page));
});
