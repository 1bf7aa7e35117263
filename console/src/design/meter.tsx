/** How much of something is used, as a bar with its numbers. It turns amber near its end, and says so in words too. */
import { countText } from "./facts.tsx";
import css from "./meter.module.css";

interface MeterProps {
  label: string;
  used: number;
  /** Without it nothing bounds it, and no bar is drawn. */
  most: number | undefined;
  /** Of a number, such as `12 GB`. */
  format?: (value: number) => string;
}

const NEARLY = 0.85;

export function Meter({ label, used, most, format = countText }: MeterProps) {
  const part = most === undefined ? 0 : most === 0 ? 1 : Math.min(1, used / most);
  const tone = most === undefined ? "none" : part >= 1 ? "full" : part >= NEARLY ? "nearly" : "fine";
  return (
    <div className={css.meter}>
      <div className={css.words}>
        <span>{label}</span>
        <span className="numbers">
          {format(used)}
          {most !== undefined && <span className="quiet"> of {format(most)}</span>}
          {tone === "full" && most !== 0 && " · full"}
        </span>
      </div>
      {most !== undefined && (
        <div className={css.track}>
          <meter className="hidden" aria-label={label} min={0} max={most} value={Math.min(used, most)} />
          <div className={css.bar} data-tone={tone} style={{ width: `${part * 100}%` }} />
        </div>
      )}
    </div>
  );
}
