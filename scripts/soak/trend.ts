/** Fits a line through what was measured over time, and says whether it is flat. */

export interface Trend {
  perHour: number;
  /** The line's value at the first and at the last measurement. */
  from: number;
  to: number;
  /** Whether it grows by more than its noise and by more than is worth a word. */
  grows: boolean;
}

export interface Point {
  hours: number;
  value: number;
}

/** A slope of less than this many of its standard errors may be chance. */
const SIGNIFICANT = 3;
const FEWEST_POINTS = 3;

/** The least squares line. It counts as flat while it rises by less than `tolerance` within an hour. */
export function trendOf(points: readonly Point[], tolerance: number): Trend | undefined {
  const { length } = points;
  if (length < FEWEST_POINTS) return undefined;
  const mean = (pick: (point: Point) => number) => points.reduce((sum, point) => sum + pick(point), 0) / length;
  const [hours, value] = [mean((point) => point.hours), mean((point) => point.value)];
  const spread = points.reduce((sum, point) => sum + (point.hours - hours) ** 2, 0);
  if (spread === 0) return undefined;
  const perHour = points.reduce((sum, point) => sum + (point.hours - hours) * (point.value - value), 0) / spread;
  const at = (hour: number) => value + perHour * (hour - hours);
  const missed = points.reduce((sum, point) => sum + (point.value - at(point.hours)) ** 2, 0);
  const standardError = Math.sqrt(missed / (length - 2) / spread);
  const grows = perHour > tolerance && perHour > SIGNIFICANT * standardError;
  return { perHour, from: at(points[0]!.hours), to: at(points.at(-1)!.hours), grows };
}
