/** Writes the tables of scopes and rights in docs/keys.md: who may use each operation and set which fields. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { operations } from "../platform/src/contract.ts";
import { type Operation, scopesOf } from "../platform/src/kernel/operation.ts";
import { audiences, fieldsOf, type Right, rightOf, rights } from "../platform/src/kernel/rights.ts";
import { type acts, grants, type ScopedResource, scopedResources } from "../platform/src/kernel/scope.ts";

const file = new URL("../docs/keys.md", import.meta.url);
const RIGHTS = /(<!-- rights -->\n)[\s\S]*?(<!-- end of rights -->)/;
const SCOPES = /(<!-- scopes -->\n)[\s\S]*?(<!-- end of scopes -->)/;

const NARROWED = { own: "its own endpoints", refused: "no" } as const;

function rightsTable(): string {
  const rows = Object.entries(operations as Record<string, Operation>).map(([name, operation]) => {
    const { narrowed, in: schema } = operation;
    const scopes = scopesOf(operation).map((scope) => `\`${scope}\``);
    const others = operation.orAnyOf ? ", or a scope that reads what it shows" : "";
    const whom = operation.who ? [audiences[operation.who]] : [];
    const needed = [...(scopes.length > 0 ? [scopes.join(" and ") + others] : []), ...whom].join(", ");
    return `| \`${name}\` | ${needed} | ${NARROWED[narrowed]} | ${fieldsBy(schema)} |`;
  });
  const head = [
    "| Operation | Scope | A key narrowed to endpoints | Fields, by who may set them |",
    "|---|---|---|---|",
  ];
  return [...head, ...rows, ""].join("\n");
}

function fieldsBy(schema: Operation["in"]): string {
  const fields = Map.groupBy(Object.entries(fieldsOf(schema)), ([, field]) => rightOf(field));
  const words = (Object.keys(rights) as Right[]).filter((right) => fields.has(right));
  return words
    .map(
      (right) =>
        `${rights[right]}: ${fields
          .get(right)!
          .map(([name]) => `\`${name}\``)
          .join(", ")}`,
    )
    .join("<br>");
}

const WHOLE: Record<string, string> = {
  all: "everything; in the first account also what belongs to the installation's owner",
  "read-only": "reads every resource; no secret's value, and runs nothing",
};

const OF_RESOURCES: Record<ScopedResource, string> = {
  account: "the account, its people, audit log, events and limits; the owner's pages of the installation",
  "api-keys": "API keys",
  billing: "bills",
  catalog: "GPU types, CPU flavors, data centers, prices, and public templates",
  clusters: "clusters",
  "network-volumes": "network volumes, their files, and S3 keys",
  pods: "Pods, their logs and figures",
  registries: "registries and delegations",
  secrets: "names of secrets",
  serverless: "endpoints, their workers, logs, releases and figures",
  "ssh-keys": "SSH keys",
  templates: "templates",
};

const ACTS: Record<(typeof acts)[number], string> = {
  "serverless:invoke": "submits jobs and calls endpoints (`/run`, `/runsync`, `/openai` and all others)",
  "pods:exec": "runs programs and shells in Pods",
  "serverless:exec": "runs programs and shells in workers",
  "installation:metrics": "reads the figures of the whole installation at `/metrics`; a key of the first account",
};

/** What each scope is for. */
function scopesTable(): string {
  const isNeeded = (scope: string) =>
    Object.values(operations as Record<string, Operation>).some((operation) =>
      scopesOf(operation).some((needed) => needed === scope),
    );
  const ofResource = (resource: ScopedResource) => [
    [`${resource}:read`, `reads ${OF_RESOURCES[resource]}`],
    [
      `${resource}:write`,
      isNeeded(`${resource}:write`) ? "creates, changes and deletes them, and reads them" : "nothing more yet",
    ],
  ];
  const scopes = [...Object.entries(WHOLE), ...scopedResources.flatMap(ofResource), ...Object.entries(ACTS)];
  const missing = grants.filter((grant) => !scopes.some(([scope]) => scope === grant));
  if (missing.length > 0) throw new Error(`nothing says what these scopes are for: ${missing.join(", ")}`);
  return [
    "| Scope | What it is for |",
    "|---|---|",
    ...scopes.map(([scope, use]) => `| \`${scope}\` | ${use} |`),
    "",
  ].join("\n");
}

export function withRights(text: string): string {
  if (!RIGHTS.test(text) || !SCOPES.test(text))
    throw new Error("docs/keys.md has no place for the rights or the scopes");
  return text
    .replace(SCOPES, (_all, begin, end) => `${begin}\n${scopesTable()}\n${end}`)
    .replace(RIGHTS, (_all, begin, end) => `${begin}\n${rightsTable()}\n${end}`);
}

if (import.meta.main) writeFileSync(file, withRights(readFileSync(file, "utf8")));
