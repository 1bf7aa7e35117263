/** The table of every list: loads by page, sorts what is loaded, chooses columns, exports CSV, moves by keyboard, stays quick with any number of rows. */

import {
  columnVisibilityFeature,
  createColumnHelper,
  createSortedRowModel,
  type RowSelectionState,
  rowSelectionFeature,
  rowSortingFeature,
  sortFns,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { ArrowDown, ArrowUp } from "lucide-react";
import {
  type ComponentType,
  type CSSProperties,
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Button } from "./button.tsx";
import type { Column } from "./column.ts";
import { Tick } from "./field.tsx";
import { isTyping } from "./is-typing.ts";
import { Skeleton } from "./layout.tsx";
import css from "./table.module.css";
import { TableRows } from "./table-rows.tsx";
import { ColumnsMenu, csvOf, download, useKeptChoice } from "./table-tools.tsx";

interface TableProps<Row> {
  /** Names the table: its chosen columns are kept under it, and its export is called so. */
  name: string;
  rows: readonly Row[] | undefined;
  columns: readonly Column<Row>[];
  idOf: (row: Row) => string;
  /** Where a row leads. */
  linkTo?: (row: Row) => string;
  /** What a row opens, where that is no page of its own. */
  onOpen?: (row: Row) => void;
  /** What can be done with several at once. Without it nothing can be chosen. */
  bulk?: (ids: readonly string[], clear: () => void) => ReactNode;
  /** Filters and search, at the left of the line above. */
  tools?: ReactNode;
  rowActions?: (row: Row) => ReactNode;
  /** Around the cells of each row: reads once what several of them show. */
  around?: ComponentType<{ row: Row; children: ReactNode }> | undefined;
  /** For lists of thousands, whose cells keep nothing of their own: rows take over the elements of those that left while one scrolls. */
  isLong?: boolean;
  empty: ReactNode;
  more?: { has: boolean; isLoading: boolean; load: () => void };
}

const features = tableFeatures({
  columnVisibilityFeature,
  rowSelectionFeature,
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns,
});
const FEW = 10;
const NONE: readonly never[] = [];
/** The columns of a list of thousands, each of a width that does not depend on its rows. One without takes what the others leave. */
const tracksOf = (columns: readonly { width?: number }[], hasTick: unknown, hasActions: unknown) =>
  [
    hasTick && "36px",
    ...columns.map(({ width }) => (width === undefined ? "minmax(172px, 1fr)" : `${width}px`)),
    hasActions && "56px",
  ]
    .filter(Boolean)
    .join(" ");

export function DataTable<Row extends object>(props: TableProps<Row>) {
  const { name, columns, idOf, linkTo, onOpen, bulk, tools, rowActions, around, isLong, empty, more } = props;
  const rows = useSameWhileEqual(props.rows);
  const [visibility, setVisibility] = useKeptChoice(
    `columns.${name}`,
    Object.fromEntries(columns.map(({ id, isExtra }) => [id, !isExtra])),
  );
  const defined = useMemo(() => {
    const helper = createColumnHelper<typeof features, Row>();
    return columns.map((column) =>
      helper.accessor((row: Row): unknown => column.value(row) ?? undefined, {
        id: column.id,
        header: column.title,
        sortUndefined: "last",
      }),
    );
  }, [columns]);
  const [selection, setSelection] = useState<RowSelectionState>({});
  const [sorting, setSorting] = useState<{ id: string; desc: boolean }[]>([]);
  const table = useTable({
    features,
    columns: defined,
    data: (rows ?? NONE) as Row[],
    getRowId: idOf,
    state: { columnVisibility: visibility, rowSelection: selection, sorting },
    onColumnVisibilityChange: setVisibility,
    onRowSelectionChange: setSelection,
    onSortingChange: setSorting,
  });
  const shown = table.getRowModel().rows;
  const chosen = Object.keys(selection).length > 0 ? shown.filter(({ id }) => selection[id]).map(({ id }) => id) : NONE;
  const shownColumns = useMemo(() => columns.filter(({ id }) => visibility[id] !== false), [columns, visibility]);
  const choose = useCallback(
    (id: string, isChosen: boolean) =>
      setSelection(({ [id]: _, ...others }) => (isChosen ? { ...others, [id]: true } : others)),
    [],
  );
  const place = useRef<HTMLDivElement>(null);
  useRowKeys(place);

  if (rows === undefined) return <Skeleton lines={8} />;
  const isNumber = (id: string) => shownColumns.some((column) => column.id === id && column.isNumber);
  const { has, isLoading } = more ?? {};
  const exportCsv = () =>
    download(
      `${name}.csv`,
      csvOf(
        shownColumns,
        shown.map((row) => row.original),
      ),
    );
  return (
    <div className={css.whole}>
      <div
        className={`${css.tools} ${!tools && shown.length === 0 ? css.none : !tools && !bulk && shown.length <= FEW ? css.few : ""}`}
      >
        <div className={css.filters}>{tools}</div>
        {chosen.length > 0 && bulk && (
          <div className={css.bulk}>
            <span>{chosen.length} chosen</span>
            {bulk(chosen, () => setSelection({}))}
          </div>
        )}
        {shown.length > 0 && (
          <div className={css.right}>
            <span className={css.count}>
              {shown.length}
              {has ? "+" : ""}
            </span>
            <ColumnsMenu columns={columns} visibility={visibility} onChange={setVisibility} />
            <Button kind="quiet" size="small" onClick={exportCsv}>
              CSV
            </Button>
          </div>
        )}
      </div>
      <div ref={place} className={css.place} data-table>
        {shown.length === 0 ? (
          empty
        ) : (
          <table
            className={isLong ? `${css.table} ${css.fixed}` : css.table}
            onPointerOver={isLong ? undefined : showWhole}
            style={isLong ? ({ "--columns": tracksOf(shownColumns, bulk, rowActions) } as CSSProperties) : undefined}
          >
            <thead>
              <tr>
                {bulk && (
                  <th className={css.tick}>
                    <Tick
                      label="Choose all"
                      isHidden
                      value={chosen.length === 0 ? false : chosen.length === shown.length ? true : "some"}
                      onChange={(value) => table.toggleAllRowsSelected(value)}
                    />
                  </th>
                )}
                {table.getHeaderGroups()[0]?.headers.map((header) => {
                  const sorted = header.column.getIsSorted();
                  return (
                    <th
                      key={header.id}
                      className={isNumber(header.id) ? css.number : undefined}
                      aria-sort={sorted === "asc" ? "ascending" : sorted === "desc" ? "descending" : undefined}
                    >
                      <button type="button" className={css.sort} onClick={header.column.getToggleSortingHandler()}>
                        {String(header.column.columnDef.header)}
                        {sorted === "asc" ? <ArrowUp /> : sorted === "desc" ? <ArrowDown /> : null}
                      </button>
                    </th>
                  );
                })}
                {rowActions && (
                  <th className={css.rowActions}>
                    <span className="hidden">Actions</span>
                  </th>
                )}
              </tr>
            </thead>
            <TableRows
              rows={shown}
              columns={shownColumns}
              chosen={selection}
              isLong={isLong}
              more={more}
              linkTo={linkTo}
              onOpen={onOpen}
              rowActions={rowActions}
              around={around}
              onChoose={bulk && choose}
            />
          </table>
        )}
        {isLoading && <p className={css.loading}>Loading more…</p>}
      </div>
    </div>
  );
}

/** A value that is cut off is shown whole when somebody points at it. */
function showWhole({ target }: { target: EventTarget }): void {
  const cell = target instanceof Element && target.closest<HTMLElement>("td[data-title]");
  if (cell) cell.title = cell.scrollWidth > cell.clientWidth ? cell.innerText : "";
}

/** The table takes a new array for new data and draws everything again, for ever where each draw makes one. The same rows are the same array here. */
function useSameWhileEqual<Row>(rows: readonly Row[] | undefined): readonly Row[] | undefined {
  const kept = useRef(rows);
  const before = kept.current;
  const isSame =
    rows === before || (rows?.length === before?.length && (rows ?? []).every((row, index) => row === before![index]));
  if (!isSame) kept.current = rows;
  return kept.current;
}

/** `j` and `k` move from row to row. */
function useRowKeys(place: React.RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const move = (event: KeyboardEvent) => {
      if ((event.key !== "j" && event.key !== "k") || event.ctrlKey || event.metaKey || isTyping(event.target)) return;
      const rows = [...(place.current?.querySelectorAll<HTMLElement>("tbody tr[tabindex]") ?? [])].sort(
        (one, other) => Number(one.dataset.index) - Number(other.dataset.index),
      );
      const now = rows.indexOf(document.activeElement as HTMLElement);
      rows[now < 0 ? 0 : now + (event.key === "j" ? 1 : -1)]?.focus();
    };
    document.addEventListener("keydown", move);
    return () => document.removeEventListener("keydown", move);
  }, [place]);
}
