/** One line of a log. */
import { memo } from "react";
import css from "./log.module.css";
import { breaksOff, type Line, type Span, spansOf } from "./log-lines.ts";

interface LogRowProps {
  line: Line;
  top: number;
  index: number;
  search: string;
  isCurrent: boolean;
  wraps: boolean;
  hasTime: boolean;
  tag?: string;
  /** Of the palette of series. */
  color?: number;
  measure?: (element: HTMLElement | null) => void;
}

const digits = (value: number, count: number) => String(value).padStart(count, "0");
function clockText(time: number): string {
  const at = new Date(time);
  const [hours, minutes, seconds] = [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => digits(part, 2));
  return `${hours}:${minutes}:${seconds}.${digits(at.getMilliseconds(), 3)}`;
}

export const LogRow = memo(function LogRow(props: LogRowProps) {
  const { line, top, index, search, isCurrent, wraps, hasTime, tag, color, measure } = props;
  return (
    <div
      ref={measure}
      data-index={index}
      className={css.row}
      data-level={line.isSystem ? (breaksOff(line) ? "warn" : "system") : line.level}
      data-current={isCurrent || undefined}
      data-wraps={wraps || undefined}
      style={{ transform: `translateY(${top}px)` }}
    >
      {hasTime && (
        <time className={css.time} dateTime={new Date(line.at).toISOString()} title={new Date(line.at).toString()}>
          {clockText(line.at)}
        </time>
      )}
      {tag !== undefined && (
        <span className={css.tag} data-color={color} title={line.from}>
          {tag}
        </span>
      )}
      <span className={css.text}>
        {spansOf(line, search).map((span, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line never changes
          <Part key={place} span={span} />
        ))}
      </span>
    </div>
  );
});

function Part({ span }: { span: Span }) {
  const { text, color, back, isBold, isDim, isItalic, isUnderlined, isMatch } = span;
  if (isMatch) return <mark>{text}</mark>;
  if (!color && !back && !isBold && !isDim && !isItalic && !isUnderlined) return text;
  return (
    <span
      data-ink={color}
      data-back={back}
      className={[isBold && css.bold, isDim && css.dim, isItalic && css.italic, isUnderlined && css.underlined]
        .filter(Boolean)
        .join(" ")}
    >
      {text}
    </span>
  );
}
