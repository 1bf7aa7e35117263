/** Writes the tables of docs/reasons.md from the catalog of reasons. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { reasonTables } from "../platform/src/kernel/reason.ts";
import type { Entry } from "../platform/src/kernel/reasons/entry.ts";

const file = new URL("../docs/reasons.md", import.meta.url);
const MARKED = /(<!-- reasons -->\n)[\s\S]*?(<!-- end of reasons -->)/;

const tables = Object.entries(reasonTables).map(([title, table]) => {
  const rows = Object.entries(table as Record<string, Pick<Entry, "means" | "remedy">>).map(
    ([code, { means, remedy }]) => `| \`${code}\` | ${means} | ${remedy} |`,
  );
  return [`## ${title}`, "", "| Code | What it means | What to do |", "|---|---|---|", ...rows, ""].join("\n");
});

export function withReasons(text: string): string {
  if (!MARKED.test(text)) throw new Error("docs/reasons.md has no place for the reasons");
  return text.replace(MARKED, (_all, begin, end) => `${begin}\n${tables.join("\n")}\n${end}`);
}

if (import.meta.main) writeFileSync(file, withReasons(readFileSync(file, "utf8")));
