/** The time that charts of a page show: the same choice on every page. */
import { Segments } from "../design/segments.tsx";

export const RANGES = ["1h", "24h", "7d", "30d"] as const;
export type Range = (typeof RANGES)[number];

const OPTIONS = RANGES.map((value) => ({ value, label: value.replace(/(?=\D)/, " ") }));
/** The newest point grows all the time; long ranges change slowly. */
export const AGAIN_MS: Record<Range, number> = { "1h": 10_000, "24h": 60_000, "7d": 300_000, "30d": 300_000 };

export function TimeRange({ value, onChange }: { value: Range; onChange: (range: Range) => void }) {
  return <Segments label="Time range" value={value} options={OPTIONS} onChange={onChange} />;
}
