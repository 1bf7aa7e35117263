/** Checks whether the job path, the proxy and the start are as fast as the best kept for this kind of machine. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { type Figure, median, ratioIn } from "./figures.ts";
import type { Rounds } from "./rounds.ts";
import type { ServerStart } from "./server-start.ts";

export const CHECKED_ROWS = ["1", "2", "3", "13", "15"];

const WARNS_BELOW = 0.95;
const FAILS_BELOW = 0.9;
const MB = 1024 * 1024;

export interface Checked {
  row: string;
  name: string;
  value: number;
  better: "more" | "less";
}

/** The best value of each figure, by its name. */
export type Kept = Record<string, number>;

export interface Compared extends Checked {
  best: number | undefined;
  /** 1 if it is as good as the best, less if it is worse. */
  share: number;
  verdict: "better" | "as before" | "warning" | "failed" | "new";
}

/** Only the share of row 13 is checked, because the others take as long again to measure. */
export const isChecked = ({ of, against, by }: Figure) =>
  by === "work" && (against === "echo" ? of.startsWith("sqlite/") : of === "lb-millrace/forward");

export function checkedFigures(figures: readonly Figure[], { byCpu }: Rounds, server: ServerStart): Checked[] {
  const shares = figures.map((figure): Checked => {
    const ratios = byCpu.map((round) => ratioIn(round, figure)).filter((ratio) => ratio !== undefined);
    if (ratios.length === 0)
      throw new Error(`no steady round for '${figure.name}': the machine is too busy to judge by`);
    return { row: figure.row, name: figure.name, value: median(ratios.map(({ cpu }) => cpu)), better: "more" };
  });
  const { answeredMs, idleBytes } = server;
  return [
    ...shares,
    { row: "15", name: "seconds from the start to the first answer", value: median(answeredMs) / 1000, better: "less" },
    { row: "15", name: "MB of memory of an idle server", value: idleBytes / MB, better: "less" },
  ];
}

export function compare(checked: readonly Checked[], kept: Kept): Compared[] {
  return checked.map((one) => {
    const best = kept[one.name];
    if (best === undefined) return { ...one, best, share: 1, verdict: "new" };
    const share = one.better === "more" ? one.value / best : best / one.value;
    return { ...one, best, share, verdict: verdictOf(share) };
  });
}

function verdictOf(share: number): Compared["verdict"] {
  if (share < FAILS_BELOW) return "failed";
  if (share < WARNS_BELOW) return "warning";
  return share > 1 ? "better" : "as before";
}

/** Returns the values to keep: the better of old and new, and the old ones of figures that were not measured. */
export function bestOf(compared: readonly Compared[], kept: Kept): Kept {
  const best = { ...kept };
  for (const { name, value, best: before, verdict } of compared)
    best[name] = verdict === "better" || before === undefined ? rounded(value) : before;
  return best;
}

const rounded = (value: number) => Math.round(value * 1000) / 1000;

export function printedCheck(compared: readonly Compared[]): string {
  const rows = compared.map(
    ({ row, name, value, best, share, verdict }) =>
      `| ${row} | ${name} | ${value.toFixed(2)} | ${best?.toFixed(2) ?? ""} | ${Math.round(share * 100)}% | ${verdict} |`,
  );
  return ["| # | Figure | Now | Best kept | Of the best | |", "|---|---|---|---|---|---|", ...rows].join("\n");
}

const fileOf = (arch: string) => fileURLToPath(new URL(`../kept/${arch}.json`, import.meta.url));

export async function readKept(arch: string): Promise<Kept> {
  try {
    return JSON.parse(await readFile(fileOf(arch), "utf8")) as Kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

export async function writeKept(arch: string, kept: Kept): Promise<string> {
  const file = fileOf(arch);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(kept, null, 2)}\n`);
  return file;
}
