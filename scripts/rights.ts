/** Writes the table of rights in docs/keys.md: who may use each operation and set which fields. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { operations } from "../platform/src/contract.ts";
import { type Operation, scopesOf } from "../platform/src/kernel/operation.ts";
import { audiences, fieldsOf, type Right, rightOf, rights } from "../platform/src/kernel/rights.ts";

const file = new URL("../docs/keys.md", import.meta.url);
const MARKED = /(<!-- rights -->\n)[\s\S]*?(<!-- end of rights -->)/;

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

export function withRights(text: string): string {
  if (!MARKED.test(text)) throw new Error("docs/keys.md has no place for the rights");
  return text.replace(MARKED, (_all, begin, end) => `${begin}\n${rightsTable()}\n${end}`);
}

if (import.meta.main) writeFileSync(file, withRights(readFileSync(file, "utf8")));
