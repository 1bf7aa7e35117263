/** One row of a table. */
import { useNavigate } from "@tanstack/react-router";
import {
  type ComponentType,
  memo,
  type ReactNode,
  type Ref,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";
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

export interface RowsProps<Row> extends RowProps<Row> {
  rows: readonly ShownRow<Row>[];
  chosen: Readonly<Record<string, boolean>>;
  more: { has: boolean; isLoading: boolean; load: () => void } | undefined;
}

export const ROW_PX = 40;
/** Further rows are read when so many are left below. */
const READ_AHEAD = 20;

/** Reads further rows before the last one comes into sight. */
export function useReadAhead(more: RowsProps<never>["more"], last: number, count: number): void {
  const { has, isLoading, load } = more ?? {};
  useEffect(() => {
    if (has && !isLoading && last >= count - READ_AHEAD) load?.();
  }, [has, isLoading, last, count, load]);
}

interface OneRowProps<Row> extends RowProps<Row> {
  id: string;
  row: Row;
  index: number;
  isChosen: boolean;
  /** In px, where each row is at a place of its own. */
  top?: number;
  measure?: ((element: HTMLElement | null) => void) | undefined;
}

export const TableRow = memo(DrawnRow) as typeof DrawnRow;

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
    <td
      key={column.id}
      data-title={column.title}
      data-plain={column.cell ? undefined : true}
      data-wide={column.isWide}
      className={column.isNumber ? css.number : undefined}
    >
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
          <Choose label={`Choose ${id}`} isChosen={isChosen} onChange={choose} />
        </td>
      )}
      {Around ? <Around row={row}>{cells}</Around> : cells}
      {rowActions && <td className={css.rowActions}>{rowActions(row)}</td>}
    </tr>
  );
}

interface ChooseProps {
  label: string;
  isChosen: boolean;
  onChange: (isOn: boolean) => void;
}

/** A row that becomes that of another record names its box anew, and leaves the rest of it alone. */
function Choose({ label, isChosen, onChange }: ChooseProps) {
  const box = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => box.current!.setAttribute("aria-label", label), [label]);
  return <Box box={box} isChosen={isChosen} onChange={onChange} />;
}

/** Drawn again only when it is ticked: React sets every attribute of an input each time, and the browser takes that for a new one. */
const Box = memo(function Box({
  box,
  isChosen,
  onChange,
}: Omit<ChooseProps, "label"> & { box: Ref<HTMLInputElement> }) {
  return <input ref={box} type="checkbox" checked={isChosen} onChange={({ target }) => onChange(target.checked)} />;
});

const textOf = (value: unknown) =>
  value === null || value === undefined || value === "" ? <span className="quiet">–</span> : String(value);
const isControl = (target: EventTarget) =>
  target instanceof Element && target.closest("a, button, input, label, [role=menu]") !== null;
