/** Writes metrics in the text format of Prometheus. */
import type { Durations } from "../../kernel/durations.ts";
import { type MetricKind, type MetricName, metricTable } from "./table.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number | Durations];
export type Samples = Partial<Record<MetricName, readonly Sample[]>>;

/** A metric without a sample is named all the same, so that a scrape shows all there are. */
export function metricsText(samples: Samples): string {
  return Object.entries<MetricKind>(metricTable)
    .map(([name, { type, about }]) => familyText(name, type, about, samples[name as MetricName] ?? []))
    .join("");
}

function familyText(name: string, type: string, about: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) =>
    typeof value === "number" ? line(name, labels, value) : histogramText(name, labels, value),
  );
  return `# HELP ${name} ${escaped(about)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function histogramText(name: string, labels: Labels, { boundsMs, counts, sumMs }: Durations): string {
  let text = "";
  let count = 0;
  for (const [bucket, counted] of counts.entries()) {
    count += counted;
    const bound = boundsMs[bucket];
    text += line(`${name}_bucket`, { ...labels, le: bound === undefined ? "+Inf" : `${bound / 1000}` }, count);
  }
  return `${text}${line(`${name}_sum`, labels, sumMs / 1000)}${line(`${name}_count`, labels, count)}`;
}

function line(name: string, labels: Labels, value: number): string {
  const said = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`);
  return `${name}${said.length > 0 ? `{${said.join(",")}}` : ""} ${value}\n`;
}

const escaped = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
