/** Small facts as people read them: times, money, sizes, ids, states. The exact value is always one hover away. */
import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { copyText } from "./copy-text.ts";
import css from "./facts.module.css";

/** Made when it is first needed. */
let exactFormat: Intl.DateTimeFormat | undefined;
const exactText = (time: Date) => {
  exactFormat ??= new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  return exactFormat.format(time);
};

const UNITS: [seconds: number, one: string, many: string][] = [
  [365 * 86_400, "year", "years"],
  [30 * 86_400, "month", "months"],
  [86_400, "day", "days"],
  [3600, "h", "h"],
  [60, "min", "min"],
  [1, "s", "s"],
];

/** In the language of the console. The first object of `Intl` also takes as long as to draw the page. */
export function sinceText(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  const length = Math.abs(seconds);
  const [size, one, many] = UNITS.find(([least]) => length >= least) ?? [1, "", ""];
  const count = Math.floor(length / size);
  if (count === 0) return "now";
  const text = `${count} ${count === 1 ? one : many}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

/** One timer for every time on the page. */
const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tell = () => setNow(Date.now());
    listeners.add(tell);
    ticking ??= setInterval(() => {
      if (!document.hidden) for (const listener of listeners) listener();
    }, 5000);
    return () => {
      listeners.delete(tell);
      if (listeners.size > 0) return;
      clearInterval(ticking);
      ticking = undefined;
    };
  }, []);
  return now;
}

export function When({ at }: { at: string | number | null | undefined }) {
  // What has just happened is newer than the last tick, and must not seem to lie ahead.
  const now = Math.max(useNow(), Date.now());
  if (at === null || at === undefined) return <span className={css.none}>–</span>;
  const time = new Date(at);
  return (
    <time
      dateTime={time.toISOString()}
      onPointerEnter={({ currentTarget }) => showWhole(currentTarget, exactText(time))}
    >
      {sinceText(time.getTime(), now)}
    </time>
  );
}

/** Milliseconds, as `420 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const [large, small, words] =
    ms < 3_600_000 ? ([60_000, 1000, ["min", "s"]] as const) : ([3_600_000, 60_000, ["h", "min"]] as const);
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${words[0]}${rest > 0 ? ` ${rest} ${words[1]}` : ""}`;
}

/** `12,345` or `0.25`, without the browser's own formats: the first use of one takes it 20 ms. */
export function countText(count: number): string {
  const [whole, part] = String(Math.round(count * 1000) / 1000).split(".");
  const grouped = whole!.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

export function Duration({ ms }: { ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span className={css.none}>–</span>;
  return <span className="numbers">{durationText(ms)}</span>;
}

/** USD, with cents at least. Small sums keep their digits: a hundredth of a cent is worth a look when it is paid each second. */
export function moneyText(usd: number): string {
  if (usd === 0) return "$0";
  const digits = Math.abs(usd) < 0.01 ? 5 : Math.abs(usd) < 1 ? 3 : 2;
  const sign = usd < 0 ? "\u2212" : "";
  return `${sign}$${Math.abs(usd)
    .toFixed(digits)
    .replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

export function Money({ usd, per }: { usd: number | null | undefined; per?: string }) {
  if (usd === null || usd === undefined) return <span className={css.none}>–</span>;
  return (
    <span className="numbers" title={`$${usd}`}>
      {moneyText(usd)}
      {per && <span className="quiet"> / {per}</span>}
    </span>
  );
}

export function sizeText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

interface IdProps {
  value: string;
  /** Cut off after its beginning, in the middle, or before its last part where it is a path. */
  short?: boolean | "middle" | "end";
  /** What the button copies, in words. */
  copies?: string;
}

/** An id in monospace with a button that copies it. Ids that begin with a time differ at their end, and are cut in the middle. */
export function Id({ value, short, copies = "the id" }: IdProps) {
  return (
    <span className={css.id}>
      <code
        className={short ? undefined : css.fitting}
        onPointerEnter={({ currentTarget }) => showWhole(currentTarget, value)}
      >
        {short ? cut(value, short) : value}
      </code>
      <CopyButton text={value} label={`Copy ${copies}`} />
    </span>
  );
}

/** Told when somebody points at it. A list that scrolls would else change hundreds of titles, and the browser looks for new styles each time. */
const showWhole = (element: HTMLElement, text: string) => {
  element.title = text;
};

const cut = (value: string, how: boolean | "middle" | "end") => {
  if (how === "end") return `…/${value.split("/").at(-1)}`;
  if (how === "middle") return value.length > 26 ? `${value.slice(0, 8)}…${value.slice(-15)}` : value;
  return value.length > 12 ? `${value.slice(0, 8)}…` : value;
};

/** The same elements each time: React does not draw them again. */
const [CHECK, COPY] = [<Check key="copied" />, <Copy key="copy" />];

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    // A list has hundreds of these. A tooltip of our own for each would cost more than all the rest of the row.
    <button
      type="button"
      className={css.copy}
      data-copy
      title={isCopied ? "Copied" : label}
      aria-label={label}
      onClick={(event) => {
        event.stopPropagation();
        event.preventDefault();
        void copy();
      }}
    >
      {isCopied ? CHECK : COPY}
    </button>
  );
}

export type Tone = "good" | "wait" | "bad" | "idle" | "accent";

const TONES: Record<string, Tone> = {
  RUNNING: "good",
  READY: "good",
  COMPLETED: "good",
  IDLE: "good",
  THROTTLED: "wait",
  IN_QUEUE: "wait",
  IN_PROGRESS: "accent",
  STARTING: "wait",
  INITIALIZING: "wait",
  PROVISIONING: "wait",
  STOPPING: "wait",
  CREATED: "wait",
  RESTARTING: "wait",
  UNHEALTHY: "bad",
  ERROR: "bad",
  FAILED: "bad",
  TIMED_OUT: "bad",
  LOST: "bad",
};

/** `IN_PROGRESS` as `In progress`. */
export const wordsOf = (status: string) => {
  const words = status.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** A dot and a word: never colour alone. */
export function Status({ value, tone = TONES[value] ?? "idle" }: { value: string; tone?: Tone }) {
  return (
    <span className={css.status} data-tone={tone}>
      <span className={css.dot} aria-hidden="true" />
      {wordsOf(value)}
    </span>
  );
}
