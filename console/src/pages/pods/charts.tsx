/** What a Pod used over time: CPU, memory and GPU, on one axis of time. */
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import Chart from "../../design/chart.tsx";
import { CurlButton, Loaded, Panel } from "../../design/layout.tsx";
import { sinceFirst, timesOf } from "../../parts/history.ts";
import { AGAIN_MS, type Range, TimeRange } from "../../parts/time-range.tsx";
import { useView } from "../../shell/view.ts";
import css from "./pods.module.css";

const percent = (value: number) => `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`;

interface ChartsProps {
  id: string;
  hasGpu: boolean;
  isVirtual: boolean;
}

export default function Charts({ id, hasGpu, isVirtual }: ChartsProps) {
  const [range, setRange] = useView<Range>("range", "1h");
  const ask = { params: { id }, query: { range } };
  const read = useRead("getPodMetricsHistory", ask, { refetchInterval: AGAIN_MS[range], keep: true });
  return (
    <Panel
      title="Use"
      about={isVirtual ? "Its GPUs are virtual, and cannot be measured." : undefined}
      actions={
        <>
          <CurlButton curl={curlOf("getPodMetricsHistory", ask)} />
          <TimeRange value={range} onChange={setRange} />
        </>
      }
    >
      <Loaded read={read} lines={8}>
        {(history) => {
          const known = sinceFirst(history);
          const { cpu = [], memory = [], gpu = [], gpuMemory = [] } = known.series;
          const times = timesOf(known);
          return (
            <div className={css.charts}>
              <Chart
                label="CPU and memory"
                times={times}
                format={percent}
                isWhole
                group="pod"
                series={[
                  { label: "CPU", values: cpu, color: 1, isFilled: true },
                  { label: "Memory", values: memory, color: 3 },
                ]}
              />
              {hasGpu && !isVirtual && (
                <Chart
                  label="GPU"
                  times={times}
                  format={percent}
                  isWhole
                  group="pod"
                  series={[
                    { label: "GPU", values: gpu, color: 2, isFilled: true },
                    { label: "GPU memory", values: gpuMemory, color: 5 },
                  ]}
                />
              )}
            </div>
          );
        }}
      </Loaded>
    </Panel>
  );
}
