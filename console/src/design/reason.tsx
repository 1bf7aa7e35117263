/** Why something waits, does not run or failed: the sentence of the server, and what to do about it. */

import type { ReactNode } from "react";
import { reasons } from "../api/reasons.data.ts";
import { Described } from "./described.tsx";
import css from "./reason.module.css";

interface ReasonProps {
  text: string | null | undefined;
  code: string | null | undefined;
  tone?: "wait" | "bad";
  /** Without a box of its own, in a list of reasons. */
  isPlain?: boolean;
  /** Buttons that do what the remedy says. */
  children?: ReactNode;
}

/** The whole of it, at the top of a page or a panel. */
export function Reason({ text, code, tone = "wait", isPlain, children }: ReasonProps) {
  if (!text) return null;
  const known = code ? reasons[code] : undefined;
  const { what, lines } = withLines(text);
  return (
    <div className={css.reason} data-tone={tone} data-plain={isPlain}>
      <p className={css.text}>{what}</p>
      {lines && <pre className={css.lines}>{lines}</pre>}
      {known && (
        <p className={css.remedy}>
          <Described text={known.remedy} />
        </p>
      )}
      {!isPlain && (
        <div className={css.foot}>
          {children}
          {code && <code title={known?.means}>{code}</code>}
        </div>
      )}
    </div>
  );
}

/** The server puts the last lines of a program into its sentence. Here each has a line of its own again. */
export function withLines(text: string): { what: string; lines: string | undefined } {
  const [, before, lines, after = ""] = /^(.*?), last lines: (.*?)(; started \d+ times? again)?$/s.exec(text) ?? [];
  if (before === undefined) return { what: text, lines: undefined };
  const telling = lines!.split(" | ").filter((line) => /\w/.test(line));
  return { what: before + after, lines: telling.length > 0 ? folded(telling).join("\n") : undefined };
}

/** A program that is started again and again says the same each time. */
function folded(lines: readonly string[]): string[] {
  const runs: { line: string; count: number }[] = [];
  for (const line of lines) {
    if (runs.at(-1)?.line === line) runs.at(-1)!.count++;
    else runs.push({ line, count: 1 });
  }
  return runs.map(({ line, count }) => (count > 1 ? `${line}  (${count} times)` : line));
}

/** For one line: what happened, and the first line that tells something. */
export function shortText(text: string): string {
  const { what, lines } = withLines(text);
  return lines === undefined ? what : `${what.replace(/; started \d+ times? again$/, "")}: ${lines.split("\n")[0]}`;
}

/** Two lines of it, which fit into a row of a table. All of it, with the remedy, is on hover. */
export function ShortReason({ text, code }: Pick<ReasonProps, "text" | "code">) {
  if (!text) return null;
  const remedy = code ? reasons[code]?.remedy : undefined;
  return (
    <span className={css.short} title={remedy ? `${text}\n\n${remedy}` : text}>
      {shortText(text)}
    </span>
  );
}

interface StateWithReasonProps extends Pick<ReasonProps, "text" | "code"> {
  /** What the state means, on hover. */
  meaning?: string | undefined;
  /** The state. */
  children: ReactNode;
}

/** A state with its reason beside it, in a wide column of a table. */
export function StateWithReason({ meaning, children, ...reason }: StateWithReasonProps) {
  return (
    <span className={css.state} title={meaning}>
      {children}
      <ShortReason {...reason} />
    </span>
  );
}
