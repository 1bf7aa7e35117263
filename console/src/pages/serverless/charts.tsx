/** What happened to an endpoint over time: its queue, workers, delays and failures on one axis of time. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRead } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import Chart from "../../design/chart.tsx";
import { chartHeight } from "../../design/chart-height.ts";
import { countText, durationText } from "../../design/facts.tsx";
import { Panel, Refused, Skeleton } from "../../design/layout.tsx";
import { type History, sinceFirst, timesOf } from "../../parts/history.ts";
import { AGAIN_MS, type Range, TimeRange } from "../../parts/time-range.tsx";
import { useView } from "../../shell/view.ts";
import { chartsOf, isBlank, zoomedTo } from "./chart-series.ts";
import css from "./serverless.module.css";

export function Charts({ endpoint }: { endpoint: Endpoint }) {
  const [range] = useView<Range>("range", "1h");
  const [end] = useView("end");
  const navigate = useNavigate();
  const look = (next: { range: Range; end: string | undefined }) =>
    void navigate({ to: ".", search: (before: object) => ({ ...before, ...next }) });
  const read = useRead(
    "getEndpointMetricsHistory",
    { params: { id: endpoint.id }, query: { range, ...(end && { end }) } },
    { refetchInterval: end ? false : AGAIN_MS[range], keep: true },
  );
  return (
    <>
      <div className={css.ranges}>
        <h2>Over time</h2>
        {end && (
          <Button size="small" kind="quiet" onClick={() => look({ range, end: undefined })}>
            Until {new Date(end).toLocaleString()}. Back to now
          </Button>
        )}
        <TimeRange value={range} onChange={(next) => look({ range: next, end: undefined })} />
      </div>
      {read.error && !read.data ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <Drawn
          history={read.data}
          isQueue={endpoint.type === "QUEUE"}
          onZoom={(from, to) => look(zoomedTo(from, to, Date.now() / 1000))}
        />
      )}
    </>
  );
}

const FORMATS = {
  count: (value: number) => countText(Math.round(value * 10) / 10),
  time: durationText,
  percent: (value: number) => `${Math.round(value)} %`,
};

const NO_HISTORY: History = { start: "1970-01-01T00:00:00Z", step: 1, series: {} };
/** As high as the chart that comes, so that nothing below it moves. */
function Waiting({ lines }: { lines: number }) {
  return (
    <div style={{ minHeight: chartHeight(lines) }}>
      <Skeleton lines={6} />
    </div>
  );
}

interface DrawnProps {
  /** Before it is read, the panels are there already, so that nothing below them moves. */
  history: unknown;
  isQueue: boolean;
  onZoom: (from: number, to: number) => void;
}

function Drawn({ history, isQueue, onZoom }: DrawnProps) {
  const { times, charts } = useMemo(() => {
    const known = sinceFirst((history as History | undefined) ?? NO_HISTORY);
    return { times: timesOf(known), charts: chartsOf(known.series, isQueue) };
  }, [history, isQueue]);
  return (
    <div className={css.charts}>
      {charts.map(({ title, format, lines }) => (
        <Panel key={title} title={title}>
          {history === undefined ? (
            <Waiting lines={lines.length} />
          ) : isBlank(lines) ? (
            <p className={css.blank} style={{ minHeight: chartHeight(lines.length) }}>
              Nothing in this time.
            </p>
          ) : (
            <Chart
              label={title}
              times={times}
              series={lines}
              format={FORMATS[format]}
              isWhole={format !== "percent"}
              {...(format === "percent" && { most: 100 })}
              group="endpoint"
              onZoom={onZoom}
            />
          )}
        </Panel>
      ))}
    </div>
  );
}
