/** The result as a table: measured, at least, and aim. */
import type { DeepResult } from "./deep.ts";
import { type Figure, median, type Round, ratioIn } from "./figures.ts";
import type { Rounds } from "./rounds.ts";

export interface Line {
  row: string;
  name: string;
  /** By CPU time where that makes sense, because it is far steadier on a shared machine. */
  measured: string;
  wall: string;
  atLeast: string;
  aim: string;
  verdict: "aim" | "at least" | "below" | "";
}

export function figureLine(figure: Figure, { byCpu, byWall }: Pick<Rounds, "byCpu" | "byWall">): Line {
  const cpu = ratiosIn(byCpu, figure).map((ratio) => ratio.cpu);
  const wall = ratiosIn(byWall, figure).map((ratio) => ratio.wall);
  const reached = figure.aim > 0 && cpu.length > 0;
  return {
    row: figure.row,
    name: figure.name,
    measured: spread(cpu),
    wall: spread(wall),
    atLeast: figure.atLeast > 0 ? String(figure.atLeast) : "",
    aim: figure.aim > 0 ? String(figure.aim) : "",
    verdict: reached ? verdict(median(cpu), figure.atLeast, figure.aim, figure.by !== "work") : "",
  };
}

function ratiosIn(rounds: Round[], figure: Figure): { cpu: number; wall: number }[] {
  return rounds.map((round) => ratioIn(round, figure)).filter((ratio) => ratio !== undefined);
}

export function deepLines({
  on,
  submitRatio,
  takeRatio,
  takeRatioOfOld,
  bytesPerJob,
  recoveryCpuSeconds,
  recoveryWallSeconds,
}: DeepResult): Line[] {
  const lines: Line[] = [];
  const where = on === "SQLite" ? "" : `on ${on}: `;
  for (const [name, ratio] of [
    ["/run, deep queue against shallow", submitRatio],
    ["taking, deep queue against shallow", takeRatio],
    ["taking, deep queue against jobs as old", takeRatioOfOld],
  ] as const) {
    if (!ratio) continue;
    lines.push({
      row: "9",
      name: where + name,
      measured: spread(ratio.all),
      wall: ratio.wall.toFixed(2),
      atLeast: "0.95",
      aim: "0.98",
      verdict: verdict(ratio.cpu, 0.95, 0.98, false),
    });
  }
  if (bytesPerJob !== undefined)
    lines.push(amount("10", `${where}memory for each waiting job`, bytesPerJob, "B", 600, 350));
  if (recoveryCpuSeconds !== undefined) {
    const line = amount("11", `${where}recovery after kill -9, CPU time`, recoveryCpuSeconds, "s", 6, 3);
    lines.push({ ...line, wall: `${recoveryWallSeconds!.toFixed(1)} s` });
  }
  return lines;
}

/** A quantity where less is better. */
export function amount(row: string, name: string, value: number, unit: string, most: number, aim: number): Line {
  const shown = unit === "B" || unit === "MB" ? String(Math.round(value)) : value.toFixed(2);
  return {
    row,
    name,
    measured: `${shown} ${unit}`,
    wall: "",
    atLeast: `${rounded(most)} ${unit}`,
    aim: `${rounded(aim)} ${unit}`,
    verdict: verdict(value, most, aim, true),
  };
}

const rounded = (value: number) => Math.round(value * 10) / 10;

function verdict(value: number, atLeast: number, aim: number, lowerIsBetter: boolean): Line["verdict"] {
  const reaches = (mark: number) => (lowerIsBetter ? value <= mark : value >= mark);
  return reaches(aim) ? "aim" : reaches(atLeast) ? "at least" : "below";
}

export function spread(values: number[]): string {
  if (values.length === 0) return "no steady round";
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(2)} (${least.toFixed(2)}-${most.toFixed(2)})`;
}

export function printed(lines: Line[]): string {
  const header: Record<keyof Line, string> = {
    row: "#",
    name: "Figure",
    measured: "Measured by CPU-second",
    wall: "by wall clock",
    atLeast: "At least",
    aim: "Aim",
    verdict: "Reached",
  };
  const columns = Object.keys(header) as (keyof Line)[];
  const rows = [header, ...lines];
  const widths = columns.map((column) => Math.max(...rows.map((row) => row[column].length)));
  const text = (row: Record<keyof Line, string>) =>
    `| ${columns.map((c, i) => row[c].padEnd(widths[i]!)).join(" | ")} |`;
  return [text(header), `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`, ...lines.map(text)].join("\n");
}
