/** The rows of a list of thousands, each at a fixed place. A row that comes into sight takes over the elements of the one that left, so that scrolling makes no elements and moves none. */
import { type RefObject, useEffect, useRef, useState } from "react";
import { useFirstFew } from "./first-few.ts";
import { useHasScrolled } from "./has-scrolled.ts";
import { ring } from "./ring.ts";
import { ROW_PX, type RowsProps, TableRow, useReadAhead } from "./table-row.tsx";

/** What most pages have above their table. */
const ABOVE_PX = 180;
/** Rows above and below those in sight, once somebody scrolls. Until then they would only make the page come later. */
const OVERSCAN = 6;
/** Scrolling is over when nothing has moved for this long. */
const PAUSE_MS = 150;
/** The elements are put in the order of their rows once nobody has scrolled for this long. */
const STILL_MS = 1000;

const inSight = (heightPx: number) => Math.ceil(heightPx / ROW_PX) + 1;

export function PlacedRows<Row extends object>({ rows, chosen, more, ...rest }: RowsProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const { top, heightPx, seenPx, isScrolling } = usePlaces(body);
  const hasScrolled = useHasScrolled(body);
  const count = Math.min(hasScrolled ? inSight(heightPx) + 2 * OVERSCAN : inSight(seenPx), rows.length);
  const first = Math.max(0, Math.min(top - (hasScrolled ? OVERSCAN : 0), rows.length - count));
  useReadAhead(more, first + count, rows.length);
  const turn = useTurn(count === 0 ? 0 : first % count);
  const drawn = useFirstFew(ring(first, count, turn));
  return (
    <tbody ref={body} data-scrolling={isScrolling || undefined} style={{ height: rows.length * ROW_PX }}>
      {drawn.map((index) => {
        const { id, original } = rows[index]!;
        return (
          <TableRow
            key={index % count}
            {...rest}
            id={id}
            row={original}
            index={index}
            isChosen={chosen[id] === true}
            top={index * ROW_PX}
          />
        );
      })}
    </tbody>
  );
}

interface Places {
  /** The number of the uppermost row in sight. */
  top: number;
  /** How high the page is, and the part of it that shows rows before anybody scrolls. */
  heightPx: number;
  seenPx: number;
  isScrolling: boolean;
}

function usePlaces(body: RefObject<HTMLElement | null>): Places {
  const [top, setTop] = useState(0);
  const [isScrolling, setScrolling] = useState(false);
  const [height, setHeight] = useState(() => ({ heightPx: innerHeight, seenPx: innerHeight - ABOVE_PX }));
  useEffect(() => {
    const scrolled = body.current?.closest("main");
    if (!scrolled) return;
    const above = () => scrolled.getBoundingClientRect().top - body.current!.getBoundingClientRect().top;
    const look = () => setTop(Math.max(0, Math.floor(above() / ROW_PX)));
    // Tells the height once the browser has laid the page out. To ask for it sooner makes the browser do that twice.
    const observer = new ResizeObserver(([entry]) => {
      const heightPx = entry!.borderBoxSize[0]!.blockSize;
      setHeight({ heightPx, seenPx: heightPx + Math.min(0, above()) });
      look();
    });
    observer.observe(scrolled);
    let ending: ReturnType<typeof setTimeout> | undefined;
    const end = () => setScrolling(false);
    const onScroll = () => {
      look();
      setScrolling(true);
      clearTimeout(ending);
      ending = setTimeout(end, PAUSE_MS);
    };
    scrolled.addEventListener("scroll", onScroll, { passive: true });
    // Who moves the pointer is about to click.
    scrolled.addEventListener("pointermove", end);
    return () => {
      observer.disconnect();
      clearTimeout(ending);
      scrolled.removeEventListener("scroll", onScroll);
      scrolled.removeEventListener("pointermove", end);
    };
  }, [body]);
  return { top, ...height, isScrolling };
}

/**
 * The element that is first in the page. To move elements costs as much as to make them, so they stay where they are while one scrolls, and
 * are put in order before somebody walks through them by keyboard, or when the page is still.
 */
function useTurn(wanted: number): number {
  const [turn, setTurn] = useState(wanted);
  useEffect(() => {
    const tidy = () => setTurn(wanted);
    const timer = setTimeout(tidy, STILL_MS);
    document.addEventListener("keydown", tidy, true);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("keydown", tidy, true);
    };
  }, [wanted]);
  return turn;
}
