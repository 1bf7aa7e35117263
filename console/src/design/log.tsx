/** A log: follows its end, stops when one scrolls up, and finds and filters lines, of one source or of many in one stream. */
import { Popover } from "@base-ui/react/popover";
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp, ChevronDown, Clock, Download, WrapText } from "lucide-react";
import { type ReactNode, useDeferredValue, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type LogStream, useLogs } from "../api/logs.ts";
import { useView, useViewList } from "../shell/view.ts";
import { Button, IconButton } from "./button.tsx";
import { Choice, Tick } from "./field.tsx";
import { Refused } from "./layout.tsx";
import css from "./log.module.css";
import { filtered, type Line, logText, searched } from "./log-lines.ts";
import { LogRow } from "./log-row.tsx";
import { SearchBox } from "./search-box.tsx";
import { download, useKeptChoice } from "./table-tools.tsx";

interface LogProps {
  /** Names the download. */
  name: string;
  streams: readonly LogStream[];
  /** Shows which source wrote a line, and lets one choose among them. */
  hasTags?: boolean;
  labelOf?: (from: string) => string;
  /** All sources that can be chosen, where not all of them are followed. */
  choices?: readonly string[];
  /** Lines behind this time are left out, and following ends there. */
  until?: number;
  /** Where it is one part of a page, and not the page. */
  isShort?: boolean;
  /** What to do when there is nothing. */
  empty?: ReactNode;
}

const ROW_PX = 20;
/** So near to its end, a log is at its end. */
const NEAR_PX = 24;
const LEVELS = [
  { value: "all", label: "All levels" },
  { value: "warn", label: "Warnings and errors" },
  { value: "error", label: "Errors" },
] as const;
const asItIs = (from: string) => from;

export function Log({ name, streams, hasTags, labelOf = asItIs, choices, until, isShort, empty }: LogProps) {
  const { lines, dropped, connection } = useLogs(streams, until);
  const [look, setLook] = useKeptChoice("log", { wraps: matchMedia("(max-width: 700px)").matches, hasTimes: true });
  const [search, setSearch] = useView<string>("find", "");
  const [level, setLevel] = useView<"all" | "warn" | "error">("level", "all");
  const [chosen, setChosen] = useViewList("from");
  const [isOnly, setOnly] = useState(false);
  const words = useDeferredValue(search);
  const sources = useMemo(
    () =>
      hasTags
        ? [
            ...new Set([...streams.map(({ from }) => from), ...(choices ?? []), ...lines.map(({ from }) => from)]),
          ].filter((from) => from !== "")
        : [],
    [hasTags, streams, choices, lines],
  );
  const shown = useMemo(
    () =>
      filtered(lines, {
        from: chosen.length > 0 ? new Set(chosen) : undefined,
        level: level === "all" ? undefined : level,
        only: isOnly ? words : undefined,
      }),
    [lines, chosen, level, isOnly, words],
  );
  const rows = useRows(shown, dropped, look.wraps);
  const found = useFound(shown, words, rows.show);
  return (
    <div className={css.whole}>
      <div className={css.tools}>
        <SearchBox
          label="Search in the log"
          value={search}
          onChange={setSearch}
          onKeyDown={(event) => event.key === "Enter" && found.go(event.shiftKey ? -1 : 1)}
          isWide
        />
        {words !== "" && (
          <>
            <output className={css.count}>
              {found.count === 0 ? "No match" : `${found.place + 1} of ${found.count}`}
            </output>
            <IconButton label="Previous match" size="small" icon={<ArrowUp />} onClick={() => found.go(-1)} />
            <IconButton label="Next match" size="small" icon={<ArrowDown />} onClick={() => found.go(1)} />
            <Tick label="Only matches" value={isOnly} onChange={setOnly} />
          </>
        )}
        <div className={css.right}>
          {sources.length > 1 && (
            <SourcesMenu sources={sources} chosen={chosen} onChange={setChosen} labelOf={labelOf} />
          )}
          <div className={css.level}>
            <Choice label="Level" value={level} onChange={setLevel} options={LEVELS} />
          </div>
          <IconButton
            label={look.hasTimes ? "Hide times" : "Show times"}
            aria-pressed={look.hasTimes}
            icon={<Clock />}
            onClick={() => setLook({ ...look, hasTimes: !look.hasTimes })}
          />
          <IconButton
            label={look.wraps ? "Do not wrap lines" : "Wrap lines"}
            aria-pressed={look.wraps}
            icon={<WrapText />}
            onClick={() => setLook({ ...look, wraps: !look.wraps })}
          />
          <IconButton
            label="Download the lines shown"
            icon={<Download />}
            refused={shown.length === 0 && "There are no lines"}
            onClick={() => download(`${name}.log`, logText(shown, hasTags ? labelOf : undefined))}
          />
        </div>
      </div>
      {connection?.refusal && <Refused refusal={connection.refusal} />}
      {connection?.isOpen === false && !connection.refusal && (
        <p className={css.lost} role="status">
          The connection to the log is lost. It is being opened again.
        </p>
      )}
      <div className={css.frame}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keyboard too */}
        <section ref={rows.place} className={css.scroller} data-short={isShort} tabIndex={0} aria-label="Log lines">
          {shown.length === 0 ? (
            <p className={css.empty}>
              {lines.length > 0
                ? "No line fits the filters."
                : (empty ?? "There are no lines yet. New ones appear here.")}
            </p>
          ) : (
            <div className={css.rows} style={{ height: rows.height }}>
              {rows.items.map(({ index, start }) => {
                const line = shown[index]!;
                return (
                  <LogRow
                    key={line.key}
                    line={line}
                    top={start}
                    index={index}
                    search={words}
                    isCurrent={found.current === line.key}
                    wraps={look.wraps}
                    hasTime={look.hasTimes}
                    {...(hasTags && { tag: labelOf(line.from), color: (sources.indexOf(line.from) % 5) + 1 })}
                    {...(look.wraps && { measure: rows.measure })}
                  />
                );
              })}
            </div>
          )}
        </section>
        {!rows.isFollowing && shown.length > 0 && (
          <div className={css.toEnd}>
            <Button size="small" icon={<ChevronDown />} onClick={rows.follow}>
              {rows.behind > 0 ? `${rows.behind} new lines` : "To the end"}
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

/** Which rows are in sight, and whether the end is followed. */
function useRows(shown: readonly Line[], dropped: number, wraps: boolean) {
  const place = useRef<HTMLElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  const [pausedAt, setPausedAt] = useState(0);
  const lastTop = useRef(0);
  const lastDropped = useRef(dropped);
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => place.current,
    estimateSize: () => ROW_PX,
    overscan: 20,
    getItemKey: (index) => shown[index]!.key,
  });
  const newest = shown.at(-1)?.key ?? 0;
  const newestNow = useRef(newest);
  newestNow.current = newest;
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes measured before are wrong after a change of wrapping
  useEffect(() => virtual.measure(), [wraps]);
  useLayoutEffect(() => {
    if (isFollowing && newest >= 0 && shown.length > 0) virtual.scrollToIndex(shown.length - 1, { align: "end" });
  }, [isFollowing, newest, shown.length, virtual]);
  useLayoutEffect(() => {
    // Lines that are dropped at the front would move those that somebody reads.
    const gone = dropped - lastDropped.current;
    lastDropped.current = dropped;
    if (!isFollowing && gone > 0 && place.current) place.current.scrollTop -= gone * ROW_PX;
  }, [dropped, isFollowing]);
  useEffect(() => {
    const element = place.current!;
    const onScroll = () => {
      const { scrollTop, scrollHeight, clientHeight } = element;
      const isAtEnd = scrollHeight - scrollTop - clientHeight < NEAR_PX;
      if (isAtEnd) setFollowing(true);
      else if (scrollTop < lastTop.current - 2) {
        setFollowing((was) => {
          if (was) setPausedAt(newestNow.current);
          return false;
        });
      }
      lastTop.current = scrollTop;
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, []);
  return {
    place,
    items: virtual.getVirtualItems(),
    height: virtual.getTotalSize(),
    measure: virtual.measureElement,
    isFollowing,
    behind: isFollowing ? 0 : shown.length - 1 - shown.findLastIndex(({ key }) => key <= pausedAt),
    follow: () => setFollowing(true),
    show: (index: number) => {
      setPausedAt(newestNow.current);
      setFollowing(false);
      virtual.scrollToIndex(index, { align: "center" });
    },
  };
}

/** The lines that match, and the one that was gone to. */
function useFound(shown: readonly Line[], words: string, show: (index: number) => void) {
  const [current, setCurrent] = useState<number>();
  const matches = useMemo(() => {
    if (words === "") return [];
    const pattern = searched(words);
    return shown.flatMap(({ text }, index) => (pattern.test(text) ? [index] : []));
  }, [shown, words]);
  const place = matches.findIndex((index) => shown[index]!.key === current);
  const now = place < 0 ? matches.length - 1 : place;
  return {
    count: matches.length,
    place: now,
    current: current ?? shown[matches.at(-1) ?? -1]?.key,
    go: (step: 1 | -1) => {
      if (matches.length === 0) return;
      const next = matches[(now + step + matches.length) % matches.length]!;
      setCurrent(shown[next]!.key);
      show(next);
    },
  };
}

interface SourcesMenuProps {
  sources: readonly string[];
  chosen: readonly string[];
  onChange: (chosen: string[]) => void;
  labelOf: (from: string) => string;
}

function SourcesMenu({ sources, chosen, onChange, labelOf }: SourcesMenuProps) {
  return (
    <Popover.Root>
      <Popover.Trigger render={<Button size="small" />}>
        {chosen.length === 0 ? `All ${sources.length} sources` : `${chosen.length} of ${sources.length} sources`}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="end" className={css.positioner!}>
          <Popover.Popup className={css.sources!} aria-label="Sources">
            {sources.map((source) => (
              <Tick
                key={source}
                label={labelOf(source)}
                value={chosen.length === 0 || chosen.includes(source)}
                onChange={(value) => {
                  const before = chosen.length === 0 ? sources : chosen;
                  const after = value ? [...before, source] : before.filter((other) => other !== source);
                  onChange(after.length === sources.length ? [] : after);
                }}
              />
            ))}
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}
