/** Writes the tables of scopes and rights in docs/keys.md: who may use each operation and set which fields. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { operations } from "../platform/src/contract.ts";
import { type Operation, scopesOf } from "../platform/src/kernel/operation.ts";
import { audiences, fieldsOf, type Right, rightOf, rights } from "../platform/src/kernel/rights.ts";
import { grants } from "../platform/src/kernel/scope.ts";

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

/** What each scope is for: the operations that need it, by name. */
function scopesTable(): string {
  const needing = (scope: string) =>
    Object.entries(operations as Record<string, Operation>)
      .filter(([, operation]) => scopesOf(operation).some((needed) => needed === scope))
      .map(([name]) => `\`${name}\``);
  const rows = grants.map((grant) => `| \`${grant}\` | ${WHOLE[grant] ?? usesOf(grant, needing(grant))} |`);
  return ["| Scope | What it is for |", "|---|---|", ...rows, ""].join("\n");
}

const ACTS: Record<string, string> = {
  "serverless:invoke": "submits jobs and calls endpoints (`/run`, `/runsync`, `/openai` and all others)",
};

function usesOf(grant: string, names: readonly string[]): string {
  const uses = [...(ACTS[grant] ? [ACTS[grant]] : []), ...(names.length > 0 ? [names.join(", ")] : [])];
  return uses.length > 0 ? uses.join("; ") : "nothing yet";
}

export function withRights(text: string): string {
  if (!RIGHTS.test(text) || !SCOPES.test(text))
    throw new Error("docs/keys.md has no place for the rights or the scopes");
  return text
    .replace(SCOPES, (_all, begin, end) => `${begin}\n${scopesTable()}\n${end}`)
    .replace(RIGHTS, (_all, begin, end) => `${begin}\n${rightsTable()}\n${end}`);
}

if (import.meta.main) writeFileSync(file, withRights(readFileSync(file, "utf8")));
