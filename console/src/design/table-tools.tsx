/** What stands around a table: the choice of columns, its export, and what is kept of both. */
import { Popover } from "@base-ui/react/popover";
import { useCallback, useState } from "react";
import { Button } from "./button.tsx";
import type { Column } from "./column.ts";
import { Tick } from "./field.tsx";
import css from "./table.module.css";

/** A choice that the browser keeps. */
export function useKeptChoice<T extends object>(name: string, fallback: T) {
  const key = `millrace.${name}`;
  const [value, setValue] = useState<T>(() => ({ ...fallback, ...JSON.parse(localStorage.getItem(key) ?? "{}") }));
  const change = useCallback(
    (next: T | ((before: T) => T)) =>
      setValue((before) => {
        const after = typeof next === "function" ? next(before) : next;
        localStorage.setItem(key, JSON.stringify(after));
        return after;
      }),
    [key],
  );
  return [value, change] as const;
}

interface ColumnsMenuProps {
  columns: readonly Pick<Column<never>, "id" | "title">[];
  visibility: Record<string, boolean>;
  onChange: (next: Record<string, boolean>) => void;
}

export function ColumnsMenu({ columns, visibility, onChange }: ColumnsMenuProps) {
  return (
    <Popover.Root>
      <Popover.Trigger render={<Button kind="quiet" size="small" />}>Columns</Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="end" className={css.positioner!}>
          <Popover.Popup className={css.columns!} aria-label="Columns">
            {columns.map(({ id, title }) => (
              <Tick
                key={id}
                label={title}
                value={visibility[id] !== false}
                onChange={(value) => onChange({ ...visibility, [id]: value })}
              />
            ))}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

export function csvOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ value }) => String(value(row) ?? ""))),
  ];
  return `${lines.map((line) => line.map(csvField).join(",")).join("\r\n")}\r\n`;
}

/** A text that a spreadsheet would take for a formula gets an apostrophe, as names come from other people. */
function csvField(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function download(name: string, content: BlobPart, type = "text/plain"): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
