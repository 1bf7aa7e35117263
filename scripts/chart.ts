/** Renders the Helm chart with Helm, for the tests that look at the result, and writes the rights into docs/kubernetes.md. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { RIGHTS, rulesFor } from "../platform/src/adapters/kubernetes/rights.ts";

export const CHART = fileURLToPath(new URL("../deploy/helm/millrace", import.meta.url));
export const RENDERED = fileURLToPath(new URL("../deploy/helm/rendered", import.meta.url));
const PAGE = new URL("../docs/kubernetes.md", import.meta.url);
/** The version of Kubernetes for which the chart is rendered. */
const KUBERNETES = "1.32.0";

/** The name of each set of values that is rendered. */
export const samples = () =>
  globSync("*.values.yaml", { cwd: RENDERED })
    .map((file) => file.replace(".values.yaml", ""))
    .sort();

export const valuesOf = (sample: string) => `${RENDERED}/${sample}.values.yaml`;
export const renderingOf = (sample: string) => `${RENDERED}/${sample}.yaml`;

/** Changes with every file from which a rendering is made. */
export function digestFor(sample: string): string {
  const files = globSync("**/*.{yaml,tpl,txt,json}", { cwd: CHART }).sort();
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\n`).update(readFileSync(`${CHART}/${file}`));
  return hash.update(readFileSync(valuesOf(sample))).digest("hex");
}

/** The first line of a rendering tells from which files it was made. */
export const headFor = (sample: string) => `# By scripts/chart.ts, from ${digestFor(sample)}\n`;

const helm = (...args: string[]) =>
  execFileSync(process.env.HELM ?? "helm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** The version of Helm, or undefined where there is none. The variable HELM names one that is elsewhere. */
export function helmVersion(): string | undefined {
  try {
    return helm("version", "--short").trim();
  } catch {
    return undefined;
  }
}

export const render = (sample: string, ...more: string[]) =>
  headFor(sample) +
  helm(
    ...["template", "millrace", CHART, "--namespace", "millrace-system", "--kube-version", KUBERNETES],
    ...["--values", valuesOf(sample), ...more],
  );

export const lint = (sample: string) =>
  helm(
    "lint",
    CHART,
    "--strict",
    "--namespace",
    "millrace-system",
    "--kube-version",
    KUBERNETES,
    "--values",
    valuesOf(sample),
  );

const MARKED = /(<!-- rights -->\n)[\s\S]*?(<!-- end of rights -->)/;

const ONLY = {
  "account-namespaces": "only with a namespace for each account",
  claims: "only with storage classes",
};

function rightsTable(): string {
  const rows = RIGHTS.flatMap(({ group, resource, where, verbs, without, only }) =>
    Object.entries(verbs).map(([verb, why]) => {
      const name = group === "" ? resource : `${resource}.${group}`;
      const place = where === "cluster" ? "the cluster" : "its namespace";
      const notes = [
        only === undefined || only === "node-usage" ? "" : ONLY[only],
        without === undefined ? "" : `without it: ${without}`,
      ].filter(Boolean);
      return `| \`${name}\` | \`${verb}\` | ${place} | ${[why, ...notes].join("; ")} |`;
    }),
  );
  return ["| Resource | Verb | In | What for |", "|---|---|---|---|", ...rows].join("\n");
}

/** The same rights as the chart gives, for those who do not use it. */
function rightsYaml(): string {
  const { instances, cluster } = rulesFor({ perAccount: false, nodeUsage: false, claims: true });
  const list = (words: readonly string[]) => `[${words.map((word) => word || '""').join(", ")}]`;
  const rules = (all: typeof instances) =>
    all.map(
      ({ apiGroups, resources, verbs }) =>
        `  - { apiGroups: ${list(apiGroups)}, resources: ${list(resources)}, verbs: ${list(verbs)} }`,
    );
  const role = (kind: string, where: string, all: typeof instances) => [
    "---",
    "apiVersion: rbac.authorization.k8s.io/v1",
    `kind: ${kind}`,
    `metadata: { name: millrace${where} }`,
    "rules:",
    ...rules(all),
    "---",
    "apiVersion: rbac.authorization.k8s.io/v1",
    `kind: ${kind}Binding`,
    `metadata: { name: millrace${where} }`,
    `roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ${kind}, name: millrace }`,
    "subjects: [{ kind: ServiceAccount, name: millrace, namespace: millrace-system }]",
  ];
  const account = [
    "apiVersion: v1",
    "kind: ServiceAccount",
    "metadata: { name: millrace, namespace: millrace-system }",
  ];
  const lines = [
    ...account,
    ...role("Role", ", namespace: millrace-instances", instances),
    ...role("ClusterRole", "", cluster),
  ];
  return lines.join("\n");
}

export function withRights(text: string): string {
  if (!MARKED.test(text)) throw new Error("docs/kubernetes.md has no place for the rights");
  const yaml = `<!-- not run: it needs a cluster -->\n\`\`\`yaml\n${rightsYaml()}\n\`\`\``;
  return text.replace(
    MARKED,
    (_all, begin, end) => `${begin}\n${rightsTable()}\n\nThe same as YAML, without Helm:\n\n${yaml}\n\n${end}`,
  );
}

if (import.meta.main) {
  writeFileSync(PAGE, withRights(readFileSync(PAGE, "utf8")));
  for (const sample of samples()) writeFileSync(renderingOf(sample), render(sample));
}
