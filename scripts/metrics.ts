/** Writes the table of docs/metrics.md from the table of metrics. A test fails if this was forgotten. */
import { readFileSync, writeFileSync } from "node:fs";
import { type MetricKind, metricTable } from "../platform/src/surfaces/metrics/table.ts";

const page = new URL("../docs/metrics.md", import.meta.url);
const MARKED = /(<!-- metrics -->\n)[\s\S]*?(<!-- end of metrics -->)/;

function metricsTable(): string {
  const rows = Object.entries<MetricKind>(metricTable).map(([name, { type, of, labels = [], about }]) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${of} | ${shown} | ${about} |`;
  });
  return ["| Metric | Type | Of | Labels | What it says |", "|---|---|---|---|---|", ...rows, ""].join("\n");
}

export function withMetrics(text: string): string {
  if (!MARKED.test(text)) throw new Error("the page has no place for the metrics");
  return text.replace(MARKED, (_all, begin, end) => `${begin}\n${metricsTable()}\n${end}`);
}

if (import.meta.main) writeFileSync(page, withMetrics(readFileSync(page, "utf8")));
