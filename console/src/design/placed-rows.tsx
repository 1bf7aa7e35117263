/** The rows of a list of thousands, each at a fixed place. A row that comes into sight takes over the elements of the one that left, so that scrolling makes no elements and moves none. */
import { type RefObject, useEffect, useRef, useState } from "react";
import { useFirstFew } from "./first-few.ts";
import { ring } from "./ring.ts";
import { ROW_PX, type RowsProps, TableRow, useReadAhead } from "./table-row.tsx";

/** What most pages have above their table. */
const ABOVE_PX = 180;
/** Rows above and below those in sight. */
const OVERSCAN = 6;
/** Scrolling is over when nothing has moved for this long. */
const PAUSE_MS = 150;
/** The elements are put in the order of their rows once nobody has scrolled for this long. */
const STILL_MS = 1000;

const placesFor = (heightPx: number) => Math.ceil(heightPx / ROW_PX) + 1 + 2 * OVERSCAN;

export function PlacedRows<Row extends object>({ rows, chosen, more, ...rest }: RowsProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const { top, places, isScrolling } = usePlaces(body);
  const count = Math.min(places, rows.length);
  const first = Math.max(0, Math.min(top - OVERSCAN, rows.length - count));
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
  /** How many elements are needed. */
  places: number;
  isScrolling: boolean;
}

function usePlaces(body: RefObject<HTMLElement | null>): Places {
  const [top, setTop] = useState(0);
  const [isScrolling, setScrolling] = useState(false);
  const [places, setPlaces] = useState(() => placesFor(innerHeight - ABOVE_PX));
  useEffect(() => {
    const scrolled = body.current?.closest("main");
    if (!scrolled) return;
    const look = () => {
      const above = scrolled.getBoundingClientRect().top - body.current!.getBoundingClientRect().top;
      setTop(Math.max(0, Math.floor(above / ROW_PX)));
    };
    // Tells the height once the browser has laid the page out. To ask for it sooner makes the browser do that twice.
    const observer = new ResizeObserver(([entry]) => {
      setPlaces(placesFor(entry!.borderBoxSize[0]!.blockSize));
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
  return { top, places, isScrolling };
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
