/** The rows of a table that are in sight. */
import { type Rect, useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef, useState } from "react";
import { useHasScrolled } from "./has-scrolled.ts";
import { PlacedRows } from "./placed-rows.tsx";
import css from "./table.module.css";
import { ROW_PX, type RowsProps, TableRow, useReadAhead } from "./table-row.tsx";

const CARD_PX = 108;
/** What most pages have above their table. */
const ABOVE_PX = 180;
/** Rows above and below those in sight, once somebody scrolls. Until then they would only make the page come later. */
const OVERSCAN = 5;

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

export function TableRows<Row extends object>({ isLong, ...props }: RowsProps<Row> & { isLong?: boolean | undefined }) {
  const isNarrow = useIsNarrow();
  return isLong && !isNarrow ? <PlacedRows {...props} /> : <FlowingRows {...props} isNarrow={isNarrow} />;
}

/** Rows one below the other, with columns as wide as what is in them. */
function FlowingRows<Row extends object>({
  rows,
  chosen,
  more,
  isNarrow,
  ...rest
}: RowsProps<Row> & { isNarrow: boolean }) {
  const body = useRef<HTMLTableSectionElement>(null);
  const hasScrolled = useHasScrolled(body);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => body.current?.closest("main") ?? null,
    estimateSize: () => (isNarrow ? CARD_PX : ROW_PX),
    overscan: hasScrolled ? OVERSCAN : 0,
    // The first rows are drawn with the page, before anybody knows how high it is.
    initialRect: { width: innerWidth, height: innerHeight - ABOVE_PX },
    observeElementRect: heightAfterLayout,
    scrollMargin: body.current?.closest<HTMLElement>("[data-table]")?.offsetTop ?? 0,
    getItemKey: useCallback((index: number) => rows[index]!.id, [rows]),
    // Waits for the next frame, rather than drawing within the event.
    useFlushSync: false,
  });
  const items = virtual.getVirtualItems();
  useReadAhead(more, items.at(-1)?.index ?? 0, rows.length);
  const above = items[0] ? items[0].start - virtual.options.scrollMargin : 0;
  const below = items.length > 0 ? virtual.getTotalSize() - (items.at(-1)!.end - virtual.options.scrollMargin) : 0;
  return (
    <tbody ref={body}>
      {above > 0 && <tr style={{ height: above }} className={css.spacer} />}
      {items.map(({ index }) => {
        const { id, original } = rows[index]!;
        return (
          <TableRow
            key={id}
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
