/** How high a chart is with its legend, also for what stands in its place until it is drawn. */

/** As high as charts are by themselves. */
export const CHART_PX = 180;
const LEGEND_PX = 28;
const LINE_PX = 18;
/** More than so many names of lines need two lines themselves. */
const ON_ONE_LINE = 2;

export const chartHeight = (lines: number, height: number = CHART_PX): number =>
  height + LEGEND_PX + (lines > ON_ONE_LINE ? LINE_PX : 0);
