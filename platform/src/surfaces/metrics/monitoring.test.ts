/** The dashboard and the alert rules ask only for metrics and labels that a server gives. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../tests/source-tree.ts";
import { setup } from "../../../tests/world.ts";
import { type MetricKind, metricTable } from "./table.ts";

const read = (path: string) => readFileSync(join(root, path), "utf8");
const kinds: Readonly<Record<string, MetricKind>> = metricTable;
const PARTS_OF_HISTOGRAMS = /_(bucket|sum|count)$/;

/** Uses of metrics, with the labels that each asks for. */
function usesIn(text: string): { name: string; labels: string[] }[] {
  return [...text.matchAll(/\b((?:millrace|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = "", inside = ""]) => ({
      name: name in kinds ? name : name.replace(PARTS_OF_HISTOGRAMS, ""),
      labels: [...inside.matchAll(/(\w+) *(?:=|!=|=~|!~)/g)].map((match) => match[1]!),
    }),
  );
}

/** Labels that Prometheus adds, and that of the buckets of a histogram. */
const ADDED = ["instance", "job", "le"];

const expressions = (
  JSON.parse(read("monitoring/dashboard.json")) as { panels: { targets?: { expr: string }[] }[] }
).panels
  .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  .join("\n");

test.each([
  ["the dashboard", expressions],
  ["the alert rules", read("monitoring/alerts.yml")],
  ["their tests", read("monitoring/alerts.test.yml")],
  ["docs/metrics.md", read("docs/metrics.md")],
])("%s names only metrics that exist, with labels that they have", (_, text) => {
  const uses = usesIn(text);
  expect(uses.length).toBeGreaterThan(10);
  expect([...new Set(uses.map(({ name }) => name))].filter((name) => !(name in kinds))).toEqual([]);
  const unknown = uses.flatMap(({ name, labels }) =>
    labels.filter((label) => !ADDED.includes(label) && kinds[name]?.labels?.includes(label) !== true),
  );
  expect(unknown).toEqual([]);
});

test("every metric of the table is on the dashboard or has no use there", () => {
  const shown = new Set(usesIn(`${expressions}\n${read("monitoring/alerts.yml")}`).map(({ name }) => name));
  const left = Object.keys(kinds).filter((name) => !shown.has(name));
  expect(left).toEqual([
    // The dashboard lists nodes by it.
    "millrace_info",
    "millrace_connections_limit",
    "millrace_bodies_limit_bytes",
    "millrace_duty_last_run_seconds",
    "millrace_audit_lines_total",
    "millrace_trace_spans_total",
    "millrace_endpoints_busy",
    "millrace_endpoint_oldest_job_seconds",
  ]);
});

test("a scrape names exactly the metrics of the table, with the labels that it says", async () => {
  await using world = await setup({ metricsEndpoints: 1 });
  await world.call("GET", "/v2/pods");
  const { text } = await world.call("GET", "/metrics");
  expect([...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type])).toEqual(
    Object.entries(kinds).map(([name, { type }]) => [name, type]),
  );
  for (const { name, labels } of usesIn(text.replaceAll(/^#.*$/gm, ""))) {
    const given = labels.filter((label) => label !== "le");
    expect([name, given]).toEqual([name, [...(kinds[name]!.labels ?? [])]]);
  }
});
