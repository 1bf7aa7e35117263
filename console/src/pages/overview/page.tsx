/** The overview: whether everything is fine, what runs, what waits and why, what failed, and what it costs. */
import { useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import Chart from "../../design/chart.tsx";
import { countText, Money, moneyText } from "../../design/facts.tsx";
import { useLasting } from "../../design/lasting.ts";
import { Loaded, Page, Panel, Skeleton } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { type History, sinceFirst, timesOf } from "../../parts/history.ts";
import { AGAIN_MS, type Range, TimeRange } from "../../parts/time-range.tsx";
import { useView } from "../../shell/view.ts";
import { Concerns, FailedJobs } from "./concerns.tsx";
import { FirstSteps } from "./first-steps.tsx";
import css from "./overview.module.css";
import { useOverview } from "./reads.ts";
import {
  balancedConcerns,
  type Concern,
  counted,
  endpointConcerns,
  latestOf,
  otherConcern,
  podConcerns,
  sumOf,
  verdictOf,
} from "./standing.ts";
import { Tile } from "./tile.tsx";

export function Overview() {
  const { pods, endpoints, shown, others, health, balanced, workers, failed, ...overview } = useOverview();
  const { series, isPending } = useLastHour();
  const isSettled = overview.isSettled && (others === 0 || !isPending);
  const known = sumOf(health.map((one) => one?.jobs.inQueue ?? 0));
  const concerns = useStanding(
    [
      ...podConcerns(pods.data?.pods ?? []),
      ...shown.flatMap((endpoint, index) => endpointConcerns(endpoint, health[index])),
      ...balanced.flatMap((endpoint, index) => balancedConcerns(endpoint, workers[index])),
      ...(isSettled ? otherConcern(others, latestOf(series?.jobsInQueue) ?? 0, known) : []),
    ],
    !isSettled,
  );
  const read = { ...(pods.error ? pods : endpoints), data: pods.data && endpoints.data };
  const curl = curlOf("getAccountMetricsHistory", { query: { range: "1h" } });
  return (
    <Loaded read={read} lines={8}>
      {({ endpoints: allEndpoints }) => {
        const allPods = pods.data!.pods;
        if (allEndpoints.length === 0 && allPods.length === 0) {
          return (
            <Page
              title="Welcome to Millrace"
              about="Three steps, and your first job has run."
              curl={curlOf("listEndpoints")}
            >
              <FirstSteps />
            </Page>
          );
        }
        // A job is listed until its result expires; the history knows longer of it.
        const failures = Math.max(failed.length, sumOf(series?.jobsFailed));
        return (
          <Page title="Overview" about={<Verdict concerns={concerns} failed={failures} />} curl={curl}>
            <Figures
              podsRunning={allPods.filter(({ status }) => status === "RUNNING").length}
              endpoints={allEndpoints.length}
              inQueue={others > 0 ? Math.max(known, latestOf(series?.jobsInQueue) ?? 0) : known}
              workers={sumOf(
                [...health.map((one) => one?.workers), ...workers.map((one) => one?.summary)].map((one) =>
                  one ? one.running + one.idle : 0,
                ),
              )}
              waitingPods={concerns.filter(({ kind, tone }) => kind === "Pod" && tone === "wait").length}
            />
            {isSettled ? (
              <>
                <div className={css.halves}>
                  <Concerns concerns={concerns} />
                  <FailedJobs failed={failed} count={failures} />
                </div>
                <Charts />
              </>
            ) : (
              // The charts stand below what needs attention, and would move as it grows.
              <Skeleton lines={8} />
            )}
          </Page>
        );
      }}
    </Loaded>
  );
}

/** What does not work first, then what has waited for more than a moment. */
function useStanding(concerns: readonly Concern[], isOpening: boolean): Concern[] {
  const waiting = concerns.filter(({ tone }) => tone === "wait");
  const lasting = useLasting(
    waiting.map(({ key }) => key),
    isOpening,
  );
  return [...concerns.filter(({ tone }) => tone === "bad"), ...waiting.filter(({ key }) => lasting.has(key))];
}

function Verdict({ concerns, failed }: { concerns: Parameters<typeof verdictOf>[0]; failed: number }) {
  const { data: account } = useRead("getAccount", {}, { refetchInterval: 60_000 });
  return (
    <>
      {verdictOf(concerns, failed, account?.refusal ?? null)}
      <Reason text={account?.refusal} code={account?.refusalCode} tone="bad" />
    </>
  );
}

function useLastHour() {
  const ask = { query: { range: "1h" } } as const;
  const { data, isPending } = useRead("getAccountMetricsHistory", ask, { refetchInterval: AGAIN_MS["1h"] });
  return { series: data?.series as Record<string, (number | null)[]> | undefined, isPending };
}

interface FiguresProps {
  podsRunning: number;
  endpoints: number;
  inQueue: number;
  workers: number;
  waitingPods: number;
}

function Figures({ podsRunning, endpoints, inQueue, workers, waitingPods }: FiguresProps) {
  const { series } = useLastHour();
  const { data: today } = useRead(
    "listBilling",
    { query: { bucketSize: "day", lastN: 1 } },
    { refetchInterval: 60_000 },
  );
  const { data: account } = useRead("getAccount", {});
  const failed = sumOf(series?.jobsFailed);
  return (
    <div className={css.tiles}>
      <Tile
        title="Running"
        to="/pods"
        about={`${counted(podsRunning, "Pod", "Pods")}, ${counted(workers, "worker", "workers")}`}
        value={podsRunning + workers}
      />
      <Tile
        title="Jobs in progress"
        to="/serverless"
        value={Math.round(latestOf(series?.jobsInProgress) ?? 0)}
        about={`${endpoints} ${endpoints === 1 ? "endpoint" : "endpoints"}`}
      />
      <Tile
        title="Waiting"
        to="/serverless"
        tone={inQueue + waitingPods > 0 ? "wait" : undefined}
        value={countText(inQueue + waitingPods)}
        about={`${counted(inQueue, "job", "jobs")}, ${counted(waitingPods, "Pod", "Pods")}`}
      />
      <Tile
        title="Failed, last hour"
        to="/serverless"
        tone={failed > 0 ? "bad" : undefined}
        value={countText(failed)}
        about={`${counted(sumOf(series?.jobsCompleted), "job", "jobs")} completed`}
      />
      <Tile
        title="Cost now"
        to="/billing"
        value={<Money usd={latestOf(series?.spendPerHour)} per="h" />}
        about="Compute and storage"
      />
      <Tile
        title="Cost today"
        to="/billing"
        value={<Money usd={today?.metadata.totals.totalAmount} />}
        about={account ? `${moneyText(account.spentThisMonth)} this month` : "UTC"}
      />
    </div>
  );
}

const rounded = (value: number) => countText(Math.round(value * 10) / 10);

function Charts() {
  const [range, setRange] = useView<Range>("range", "1h");
  const read = useRead(
    "getAccountMetricsHistory",
    { query: { range } },
    { keep: true, refetchInterval: AGAIN_MS[range] ?? 60_000 },
  );
  return (
    <Panel title="Over time" actions={<TimeRange value={range} onChange={setRange} />}>
      <Loaded read={read} lines={8}>
        {(history) => <Drawn history={history} />}
      </Loaded>
    </Panel>
  );
}

function Drawn({ history }: { history: History }) {
  const drawn = useMemo(() => {
    const known = sinceFirst(history);
    const { series } = known;
    const of = (name: string, label: string, color: 1 | 2 | 3 | 4 | 5, more: object = {}) => ({
      ...{ label, color, values: series[name] ?? [], ...more },
    });
    return {
      times: timesOf(known),
      jobs: [of("jobsInQueue", "In queue", 2), of("jobsInProgress", "In progress", 1, { isFilled: true })],
      ended: [of("jobsCompleted", "Completed", 5), of("jobsFailed", "Failed", 4)],
      runs: [of("workersRunning", "Workers with jobs", 1), of("podsRunning", "Pods", 3)],
      money: [of("spendPerHour", "USD per hour", 2, { isFilled: true })],
    };
  }, [history]);
  const charts = [
    ["Jobs that wait and run", drawn.jobs, rounded],
    ["Jobs that ended", drawn.ended, rounded],
    ["Workers and Pods", drawn.runs, rounded],
    ["Cost by the hour", drawn.money, moneyText],
  ] as const;
  return (
    <div className={css.charts}>
      {charts.map(([title, series, format]) => (
        <section key={title}>
          <h3>{title}</h3>
          <Chart label={title} times={drawn.times} series={series} format={format} height={150} group="overview" />
        </section>
      ))}
    </div>
  );
}
