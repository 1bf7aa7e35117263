/** Keeps off a page what passes within seconds, since it would move everything below it. */
import { useEffect, useRef, useState } from "react";

/** The only worker of an endpoint is busy for a moment with every job. */
const LASTING_MS = 4000;

/** When each was first seen. What is there when the page opens has lasted already. */
export function firstSeen(
  before: ReadonlyMap<string, number>,
  names: readonly string[],
  now: number,
  isOpening: boolean,
): Map<string, number> {
  return new Map(names.map((name) => [name, before.get(name) ?? (isOpening ? now - LASTING_MS : now)]));
}

/** Which of the names have lasted, and in how many milliseconds the next one has. */
export function lastingOf(seen: ReadonlyMap<string, number>, now: number) {
  const left = [...seen.values()].map((at) => at + LASTING_MS - now).filter((ms) => ms > 0);
  return {
    lasting: new Set([...seen].filter(([, at]) => now - at >= LASTING_MS).map(([name]) => name)),
    nextMs: left.length > 0 ? Math.min(...left) : undefined,
  };
}

/** Those of the names that have lasted. The page is opening until it is shown with everything that it reads, for the first time. */
export function useLasting(names: readonly string[], isOpening: boolean): ReadonlySet<string> {
  const seen = useRef<ReadonlyMap<string, number>>(new Map());
  const wasOpening = useRef(true);
  const [, drawAgain] = useState(0);
  const now = Date.now();
  seen.current = firstSeen(seen.current, names, now, isOpening || wasOpening.current);
  wasOpening.current = isOpening;
  const { lasting, nextMs } = lastingOf(seen.current, now);
  useEffect(() => {
    if (nextMs === undefined) return;
    const timer = setTimeout(() => drawAgain((count) => count + 1), nextMs);
    return () => clearTimeout(timer);
  });
  return lasting;
}
