/** The rows of a table that are in sight. Scrolling draws those that come into sight, and none of the others again. */
import { useNavigate } from "@tanstack/react-router";
import { type Rect, useVirtualizer } from "@tanstack/react-virtual";
import { type ComponentType, memo, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
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
/** What most pages have above their table. */
const ABOVE_PX = 180;
/** Rows above and below those in sight. */
const OVERSCAN = 5;
/** Further rows are read when so many are left below. */
const READ_AHEAD = 20;

/** Tells the height once the browser has laid the page out. To ask for it sooner makes the browser do that twice. */
function heightAfterLayout({ scrollElement }: { scrollElement: Element | null }, tell: (rect: Rect) => void) {
  if (!scrollElement) return;
  const observer = new ResizeObserver(([entry]) => {
    const { inlineSize: width, blockSize: height } = entry!.borderBoxSize[0]!;
    tell({ width: Math.round(width), height: Math.round(height) });
  });
  observer.observe(scrollElement);
  return () => observer.disconnect();
}

export function TableRows<Row extends object>({ rows, chosen, more, isLong, ...rest }: RowsProps<Row>) {
  const isNarrow = useIsNarrow();
  const body = useRef<HTMLTableSectionElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => body.current?.closest("main") ?? null,
    estimateSize: () => (isNarrow ? CARD_PX : ROW_PX),
    overscan: OVERSCAN,
    // The first rows are drawn with the page, before anybody knows how high it is.
    initialRect: { width: innerWidth, height: innerHeight - ABOVE_PX },
    observeElementRect: heightAfterLayout,
    scrollMargin: body.current?.closest<HTMLElement>("[data-table]")?.offsetTop ?? 0,
    getItemKey: useCallback((index: number) => rows[index]!.id, [rows]),
    // Waits for the next frame, rather than drawing within the event.
    useFlushSync: false,
  });
  const items = useFirstFew(virtual.getVirtualItems());
  const last = items.at(-1)?.index ?? 0;
  const { has, isLoading, load } = more ?? {};
  useEffect(() => {
    if (has && !isLoading && last >= rows.length - READ_AHEAD) load?.();
  }, [has, isLoading, last, rows.length, load]);
  // As many as are ever drawn at once. A row that comes into sight takes over the elements of the one that left.
  const places = Math.ceil((virtual.scrollRect?.height ?? 0) / ROW_PX) + 2 * OVERSCAN + 2;
  const isPlaced = isLong === true && !isNarrow;
  const isTakenOver = isPlaced && items.length <= places;
  // Rows at places of their own may stand in any order. To move one within the page costs as much as to make it, so that waits for the end.
  const order = useRef<readonly number[]>([]);
  if (!virtual.isScrolling || order.current.length !== places) {
    const shown = new Set(items.map(({ index }) => index % places));
    for (let place = 0; place < places; place++) shown.add(place);
    order.current = [...shown];
  }
  const drawn = isTakenOver ? inOrder(items, order.current, ({ index }) => index % places) : items;
  const above = items[0] ? items[0].start - virtual.options.scrollMargin : 0;
  const below = items.length > 0 ? virtual.getTotalSize() - (items.at(-1)!.end - virtual.options.scrollMargin) : 0;
  return (
    <tbody
      ref={body}
      data-scrolling={virtual.isScrolling || undefined}
      style={isPlaced ? { height: virtual.getTotalSize() } : undefined}
    >
      {above > 0 && !isPlaced && <tr style={{ height: above }} className={css.spacer} />}
      {drawn.map(({ index, start }) => {
        const { id, original } = rows[index]!;
        return (
          <TableRow
            key={isTakenOver ? index % places : id}
            {...rest}
            id={id}
            row={original}
            index={index}
            isChosen={chosen[id] === true}
            top={isPlaced ? start - virtual.options.scrollMargin : undefined}
            // Cards differ in height. Rows do not, and measuring them costs a layout each.
            measure={isNarrow ? virtual.measureElement : undefined}
          />
        );
      })}
      {below > 0 && !isPlaced && <tr style={{ height: below }} className={css.spacer} />}
    </tbody>
  );
}

function inOrder<Item>(items: readonly Item[], keys: readonly number[], keyOf: (item: Item) => number): Item[] {
  const byKey = new Map(items.map((item) => [keyOf(item), item]));
  return keys.flatMap((key) => byKey.get(key) ?? []);
}

/** Rows of the first drawing, and of each further one until all that are in sight are there. */
const FEW = 7;

/** A slow machine shows the page with a few rows and takes clicks already while it draws the others. What comes into sight later is drawn at once. */
function useFirstFew<Item>(items: readonly Item[]): readonly Item[] {
  const [most, setMost] = useState(FEW);
  const isAll = most >= items.length;
  useEffect(() => {
    if (items.length === 0 || most === Number.POSITIVE_INFINITY) return;
    if (isAll) return setMost(Number.POSITIVE_INFINITY);
    // Not within the task that drew the others.
    const timer = setTimeout(() => setMost(most + FEW));
    return () => clearTimeout(timer);
  }, [items.length, isAll, most]);
  return isAll ? items : items.slice(0, most);
}

interface OneRowProps<Row> extends RowProps<Row> {
  id: string;
  row: Row;
  index: number;
  isChosen: boolean;
  /** In px, where each row is at a place of its own. */
  top: number | undefined;
  measure: ((element: HTMLElement | null) => void) | undefined;
}

const TableRow = memo(DrawnRow) as typeof DrawnRow;

function DrawnRow<Row extends object>(props: OneRowProps<Row>) {
  const {
    id,
    row,
    index,
    columns,
    linkTo,
    onOpen,
    rowActions,
    around: Around,
    onChoose,
    isChosen,
    top,
    measure,
  } = props;
  const navigate = useNavigate();
  const now = useRef({ id, onChoose });
  now.current = { id, onChoose };
  const choose = useCallback((isOn: boolean) => now.current.onChoose?.(now.current.id, isOn), []);
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
      style={top === undefined ? undefined : { transform: `translateY(${top}px)` }}
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
          {/* biome-ignore lint/a11y/noLabelWithoutControl: the checkbox is the control */}
          <label>
            <Choose isChosen={isChosen} onChange={choose} />
            <span className="hidden">Choose {id}</span>
          </label>
        </td>
      )}
      {Around ? <Around row={row}>{cells}</Around> : cells}
      {rowActions && <td className={css.rowActions}>{rowActions(row)}</td>}
    </tr>
  );
}

/** Drawn again only when it is ticked: React sets every attribute of an input each time, and the browser takes that for a new one. */
const Choose = memo(function Choose({ isChosen, onChange }: { isChosen: boolean; onChange: (isOn: boolean) => void }) {
  return <input type="checkbox" checked={isChosen} onChange={({ target }) => onChange(target.checked)} />;
});

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
