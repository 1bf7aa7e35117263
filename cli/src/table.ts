/** Records as people read them: a table for many, a line per field for one. Columns are derived from the model, as in the console. */
import { styleText } from "node:util";
import type { Schema } from "./flags.ts";
import { type Shell, writeLine } from "./shell.ts";

type Row = Record<string, unknown>;

/** More columns would not fit on a usual terminal. */
const MOST_COLUMNS = 8;
/** The columns that people look for first. */
const FIRST = ["id", "name", "status"];
/** Codes and long texts stay in `get` and `--json`. */
const LEFT_OUT = /Code$|^(args|description|userAgent|etag)$/;

const isScalar = (schema: Schema): boolean =>
  schema.anyOf
    ? schema.anyOf.every(isScalar)
    : schema.type !== "object" && schema.type !== "array" && !schema.writeOnly;

export function columnsOf({ properties = {} }: Schema): string[] {
  const fitting = Object.entries(properties).filter(([name, schema]) => isScalar(schema) && !LEFT_OUT.test(name));
  const names = fitting.map(([name]) => name);
  const first = FIRST.filter((name) => names.includes(name));
  return [...first, ...names.filter((name) => !first.includes(name))].slice(0, MOST_COLUMNS);
}

function valueAt(row: Row, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Row | null | undefined)?.[name], row);
}

const ISO_TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?Z$/;

function cellOf(value: unknown): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(",") || "-";
  if (typeof value === "object") return JSON.stringify(value);
  // Nothing that a record says may move the cursor or change colours.
  return String(value)
    .replace(ISO_TIME, "$1 $2")
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, " ");
}

/** `minVcpuCount` as `MIN VCPU COUNT`. */
const titleOf = (path: string) =>
  path
    .replaceAll(".", " ")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toUpperCase();

export function tableLines(rows: readonly Row[], columns: readonly string[]): string[] {
  const cells = [columns.map(titleOf), ...rows.map((row) => columns.map((column) => cellOf(valueAt(row, column))))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at]!.length)));
  return cells.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at]!))
      .join("  ")
      .trimEnd(),
  );
}

/** Prints a table. On a terminal its lines are cut where the terminal ends, and its titles are dim. */
export function printTable({ stdout }: Pick<Shell, "stdout">, lines: readonly string[]): void {
  const width = stdout.isTTY ? stdout.columns : undefined;
  const [title = "", ...rest] = lines.map((line) => (width ? line.slice(0, width) : line));
  writeLine(stdout, stdout.isTTY ? styleText("dim", title, { stream: stdout }) : title);
  for (const line of rest) writeLine(stdout, line);
}

/** One line per field. Fields of a group have a dot in their names. */
export function factLines(record: Row): string[] {
  const facts = flat(record, "");
  const width = Math.max(0, ...facts.map(([name]) => name.length));
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${cellOf(value)}`);
}

const DEEPEST = 3;

function flat(record: Row, path: string, depth = 1): [string, unknown][] {
  return Object.entries(record).flatMap(([name, value]): [string, unknown][] => {
    const at = path === "" ? name : `${path}.${name}`;
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value) && depth < DEEPEST;
    return isGroup && Object.keys(value).length > 0 ? flat(value as Row, at, depth + 1) : [[at, value]];
  });
}
