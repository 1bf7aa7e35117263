/** The rows of a table that are in sight. Scrolling draws those that come into sight, and none of the others again. */
import { useNavigate } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ComponentType, Fragment, memo, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import type { Column } from "./column.ts";
import css from "./table.module.css";

export interface ShownRow<Row> {
  id: string;
  original: Row;
}

interface RowProps<Row> {
  /** Those that are shown. */
  columns: readonly Column<Row>[];
  linkTo?: ((row: Row) => string) | undefined;
  onOpen?: ((row: Row) => void) | undefined;
  rowActions?: ((row: Row) => ReactNode) | undefined;
  /** Around the cells of a row: reads once what several of them show. */
  around?: ComponentType<{ row: Row; children: ReactNode }> | undefined;
  /** Chooses a row or not. Without it nothing can be chosen. */
  onChoose?: ((id: string, isChosen: boolean) => void) | undefined;
}

interface RowsProps<Row> extends RowProps<Row> {
  isLong?: boolean | undefined;
  rows: readonly ShownRow<Row>[];
  chosen: Readonly<Record<string, boolean>>;
  more: { has: boolean; isLoading: boolean; load: () => void } | undefined;
}

const ROW_PX = 40;
const CARD_PX = 108;
/** Rows above and below those in sight. */
const OVERSCAN = 5;
/** Further rows are read when so many are left below. */
const READ_AHEAD = 20;

export function TableRows<Row extends object>({ rows, chosen, more, isLong, ...rest }: RowsProps<Row>) {
  const isNarrow = useIsNarrow();
  const body = useRef<HTMLTableSectionElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => body.current?.closest("main") ?? null,
    estimateSize: () => (isNarrow ? CARD_PX : ROW_PX),
    overscan: OVERSCAN,
    scrollMargin: body.current?.closest<HTMLElement>("[data-table]")?.offsetTop ?? 0,
    getItemKey: useCallback((index: number) => rows[index]!.id, [rows]),
    // Waits for the next frame, rather than drawing within the event.
    useFlushSync: false,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  const { has, isLoading, load } = more ?? {};
  useEffect(() => {
    if (has && !isLoading && last >= rows.length - READ_AHEAD) load?.();
  }, [has, isLoading, last, rows.length, load]);
  // As many as are ever drawn at once. A row that comes into sight takes over the elements of the one that left.
  const places = Math.ceil((virtual.scrollRect?.height ?? 0) / ROW_PX) + 2 * OVERSCAN + 2;
  const isTakenOver = isLong && !isNarrow && items.length <= places;
  const above = items[0] ? items[0].start - virtual.options.scrollMargin : 0;
  const below = items.length > 0 ? virtual.getTotalSize() - (items.at(-1)!.end - virtual.options.scrollMargin) : 0;
  return (
    <tbody ref={body} data-scrolling={virtual.isScrolling || undefined}>
      {above > 0 && <tr style={{ height: above }} className={css.spacer} />}
      {items.map(({ index }) => {
        const { id, original } = rows[index]!;
        return (
          <TableRow
            key={isTakenOver ? index % places : id}
            {...rest}
            id={id}
            row={original}
            index={index}
            isChosen={chosen[id] === true}
            // Cards differ in height. Rows do not, and measuring them costs a layout each.
            measure={isNarrow ? virtual.measureElement : undefined}
          />
        );
      })}
      {below > 0 && <tr style={{ height: below }} className={css.spacer} />}
    </tbody>
  );
}

interface OneRowProps<Row> extends RowProps<Row> {
  id: string;
  row: Row;
  index: number;
  isChosen: boolean;
  measure: ((element: HTMLElement | null) => void) | undefined;
}

const TableRow = memo(DrawnRow) as typeof DrawnRow;

function DrawnRow<Row extends object>(props: OneRowProps<Row>) {
  const { id, row, index, columns, linkTo, onOpen, rowActions, around: Around, onChoose, isChosen, measure } = props;
  const navigate = useNavigate();
  const to = linkTo?.(row);
  const opens = to !== undefined || onOpen !== undefined;
  const cells = columns.map((column) => (
    <td key={column.id} data-title={column.title} className={column.isNumber ? css.number : undefined}>
      {column.cell ? column.cell(row) : textOf(column.value(row))}
    </td>
  ));
  const open = () => (to ? void navigate({ to }) : onOpen?.(row));
  return (
    <tr
      ref={measure}
      data-index={index}
      data-chosen={isChosen || undefined}
      data-link={opens || undefined}
      tabIndex={opens ? 0 : undefined}
      onClick={(event) => {
        if (opens && !isControl(event.target)) open();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && opens && event.target === event.currentTarget) open();
      }}
    >
      {onChoose && (
        <td className={css.tick}>
          <input
            type="checkbox"
            aria-label={`Choose ${id}`}
            checked={isChosen}
            onChange={({ target }) => onChoose(id, target.checked)}
          />
        </td>
      )}
      {Around ? <Around row={row}>{cells}</Around> : cells}
      {rowActions && (
        <td className={css.rowActions}>
          {/* An open menu stays with its own record. */}
          <Fragment key={id}>{rowActions(row)}</Fragment>
        </td>
      )}
    </tr>
  );
}

const textOf = (value: unknown) =>
  value === null || value === undefined || value === "" ? <span className="quiet">–</span> : String(value);
const isControl = (target: EventTarget) =>
  target instanceof Element && target.closest("a, button, input, label, [role=menu]") !== null;

function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia("(max-width: 700px)").matches);
  useEffect(() => {
    const query = matchMedia("(max-width: 700px)");
    const tell = () => setNarrow(query.matches);
    query.addEventListener("change", tell);
    return () => query.removeEventListener("change", tell);
  }, []);
  return isNarrow;
}
