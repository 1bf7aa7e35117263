/** Charts over time. All charts of a page share the cross-hair, and a zoom sets the page's time range. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "react";
import css from "./chart.module.css";
import { CHART_PX, chartHeight } from "./chart-height.ts";
import { inTurn } from "./chart-turns.ts";
import { onTheme, resolvedColor } from "./colors.ts";

export interface Series {
  label: string;
  values: readonly (number | null)[];
  /** What the legend says for each value, where bars stand upon others and `values` are their tops. */
  told?: readonly (number | null)[];
  /** A token of the palette: 1 to 5. */
  color: 1 | 2 | 3 | 4 | 5 | 6;
  isFilled?: boolean;
  isBars?: boolean;
}

interface ChartProps {
  label: string;
  /** Seconds since 1970, one for each value. */
  times: readonly number[];
  series: readonly Series[];
  format: (value: number) => string;
  height?: number;
  /** Counts have no fractions on their axis. */
  isWhole?: boolean;
  /** The top of the axis, where it is known, as 100 is for percent. */
  most?: number;
  /** Charts of one group share their cross-hair. */
  group?: string;
  onZoom?: (from: number, to: number) => void;
}

export default function Chart(props: ChartProps) {
  const { label, times, series, format, height = CHART_PX, isWhole, most, group, onZoom } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;
  const latest = useRef(series);
  latest.current = series;
  const moments = useRef(times);
  moments.current = times;
  const shape = JSON.stringify(series.map(({ values: _, told: __, ...rest }) => rest));
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` stands for the series; their values come by the effect below
  useEffect(() => {
    const element = place.current!;
    let built: uPlot | undefined;
    const fit = () => {
      const width = element.clientWidth;
      if (plot.current && plot.current.width !== width) plot.current.setSize({ width, height });
    };
    const build = () => {
      built?.destroy();
      let begin: () => void = () => undefined;
      const chart = new uPlot(
        optionsOf({ series, format, height, isWhole, most, group, zoom, latest }, element),
        dataOf(moments.current, latest.current),
        ({ root }, init) => {
          begin = () => {
            // Not before it has its height: the legend would stand at the top until then.
            element.append(root);
            (init as () => void)();
          };
        },
      );
      built = chart;
      return () => {
        if (built !== chart) return;
        begin();
        plot.current = chart;
        // What was read since it was built, and the width that it has by now.
        chart.setData(dataOf(moments.current, latest.current));
        fit();
      };
    };
    const unqueued = inTurn(build);
    const watch = new ResizeObserver(fit);
    watch.observe(element);
    // Colours are read from the page, so a new theme needs new ones.
    const unthemed = onTheme(() => build()());
    return () => {
      unqueued();
      watch.disconnect();
      unthemed();
      built?.destroy();
      built = undefined;
      plot.current = null;
    };
  }, [shape, height, group]);
  useEffect(() => {
    plot.current?.setData(dataOf(times, series));
    plot.current?.setLegend({});
  }, [times, series]);
  const last = series.map((one) => `${one.label}: ${textOf(latestOf(one), format)}`);
  return (
    <figure
      ref={place}
      className={css.chart}
      style={{ minHeight: chartHeight(series.length, height) }}
      role="img"
      aria-label={`${label}. Latest: ${last.join(", ")}`}
    />
  );
}

/** Bars stand on their moments, so the first and the last need half of their width beside them. */
function withHalfBars(chart: uPlot, least: number, most: number): [number, number] {
  const [times] = chart.data;
  const half = times.length > 1 ? (times[1]! - times[0]!) / 2 : 43_200;
  return [least - half, most + half];
}

const latestOf = ({ values, told = values }: Series) => told.findLast((value) => value !== null);

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (value: number) => String(value).padStart(2, "0");
const DAY_S = 86_400;

/** Hours of the day, and the day where one begins. */
function timeTexts(times: readonly number[], step: number): string[] {
  return times.map((time) => {
    const at = new Date(time * 1000);
    const isDay = step >= DAY_S || at.getHours() + at.getMinutes() === 0;
    return isDay ? `${at.getDate()} ${MONTHS[at.getMonth()]}` : `${two(at.getHours())}:${two(at.getMinutes())}`;
  });
}

/** As wide as its longest label, and as most need, so that the times of charts stand below each other. */
const axisWidth = (_: uPlot, texts: readonly string[] | null) =>
  14 + 6.2 * Math.max(5, ...(texts ?? []).map((text) => text.length));

const textOf = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? "–" : format(value);

const dataOf = (times: readonly number[], series: readonly Series[]) =>
  [times, ...series.map(({ values }) => values)] as unknown as uPlot.AlignedData;

interface Drawn extends Pick<ChartProps, "series" | "format" | "group"> {
  height: number;
  isWhole: boolean | undefined;
  most: number | undefined;
  zoom: { current: ChartProps["onZoom"] };
  latest: { current: readonly Series[] };
}

const WHOLE_STEPS = [1, 2, 5]
  .flatMap((step) => Array.from({ length: 9 }, (_, zeros) => step * 10 ** zeros))
  .toSorted((a, b) => a - b);

/** Values without a neighbour make no line, so they are drawn as points. */
function lonelyIn(values: uPlot.AlignedData[number]): number[] {
  const isGap = (index: number) => values[index] === null || values[index] === undefined;
  return Array.from(values.keys()).filter((index) => !isGap(index) && isGap(index - 1) && isGap(index + 1));
}

function optionsOf(
  { series, format, height, isWhole, most: top, group, zoom, latest }: Drawn,
  element: HTMLElement,
): uPlot.Options {
  const style = getComputedStyle(element);
  const color = (name: string) => resolvedColor(element, style.getPropertyValue(name));
  const axis = {
    stroke: color("--quiet"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: "11px Inter Variable, sans-serif",
  };
  return {
    width: element.clientWidth,
    height,
    // At the right there is room for the second half of the last time.
    padding: [10, 18, 0, 0],
    cursor: {
      drag: { x: zoom.current !== undefined, y: false, setScale: false },
      ...(group !== undefined && { sync: { key: group } }),
      points: { size: 6 },
    },
    legend: { live: true },
    axes: [
      { ...axis, size: 26, values: (_, times, __, ___, step) => timeTexts(times, step) },
      {
        ...axis,
        size: axisWidth,
        gap: 6,
        values: (_, ticks) => ticks.map(format),
        ...(isWhole && { incrs: WHOLE_STEPS }),
      },
    ],
    scales: {
      ...(series.some(({ isBars }) => isBars) && { x: { range: withHalfBars } }),
      y: { range: (_, least, most) => [Math.min(0, least ?? 0), top ?? ((most ?? 0) <= 0 ? 1 : most * 1.08)] },
    },
    series: [
      { value: (_, time) => (time === null ? "Latest" : new Date(time * 1000).toLocaleString()) },
      ...series.map(({ label, color: token, isFilled, isBars }) => {
        const stroke = color(`--series-${token}`);
        return {
          label,
          stroke,
          width: 1.5,
          points: {
            show: isBars !== true,
            size: 4,
            fill: stroke,
            filter: (chart: uPlot, place: number) => (isBars ? [] : lonelyIn(chart.data[place]!)),
          },
          value: (_: uPlot, value: number | null, place: number, index: number | null) =>
            textOf(
              index === null
                ? latestOf(latest.current[place - 1]!)
                : (latest.current[place - 1]?.told?.[index] ?? value),
              format,
            ),
          ...(isFilled && { fill: `${stroke}26` }),
          ...(isBars && { fill: stroke, paths: uPlot.paths.bars!({ size: [0.7, 24] }) }),
        };
      }),
    ],
    hooks: {
      setSelect: [
        (chart) => {
          const { left, width } = chart.select;
          if (width > 4) zoom.current?.(chart.posToVal(left, "x"), chart.posToVal(left + width, "x"));
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}
