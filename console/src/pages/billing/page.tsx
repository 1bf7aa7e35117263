/** What the account costs: the month so far and its limits, each day by kind, and each resource. */
import { useMemo, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import Chart from "../../design/chart.tsx";
import { Money, moneyText } from "../../design/facts.tsx";
import { Choice } from "../../design/field.tsx";
import { Loaded, Page, Panel } from "../../design/layout.tsx";
import { download } from "../../design/table-tools.tsx";
import { UsageExport } from "../../parts/usage-export.tsx";
import { useView } from "../../shell/view.ts";
import css from "./billing.module.css";
import { historyCsv } from "./export.ts";
import { Limits } from "./limits.tsx";
import { ResourceCosts } from "./resources.tsx";
import { type History, KINDS, kindSum, kinds, stacked, usdOf } from "./sums.ts";

const RANGES = {
  "24h": { title: "Last 24 hours", bucketSize: "hour", lastN: 24 },
  "7d": { title: "Last 7 days", bucketSize: "day", lastN: 7 },
  "30d": { title: "Last 30 days", bucketSize: "day", lastN: 30 },
  "90d": { title: "Last 90 days", bucketSize: "day", lastN: 90 },
  "12m": { title: "Last 12 months", bucketSize: "month", lastN: 12 },
} as const;
type Range = keyof typeof RANGES;
const COLORS = { serverless: 1, pods: 2, volumes: 3, shared: 6, clusters: 5 } as const;
/** What runs costs more each moment. */
const AGAIN_MS = 60_000;

export function BillingPage() {
  const [range, setRange] = useView<Range>("range", "30d");
  const { bucketSize, lastN } = RANGES[range] ?? RANGES["30d"];
  const query = { bucketSize, lastN };
  const [isExporting, setExporting] = useState(false);
  const read = useRead("listBilling", { query }, { keep: true, refetchInterval: AGAIN_MS });
  return (
    <Page
      title="Billing"
      about="What was metered, in USD. What runs now counts until now; days and months are in UTC."
      curl={curlOf("listBilling", { query })}
      actions={
        <>
          <Choice
            label="Range"
            value={range}
            onChange={setRange}
            options={Object.entries(RANGES).map(([value, { title }]) => ({ value: value as Range, label: title }))}
          />
          <Button onClick={() => setExporting(true)}>Export usage</Button>
        </>
      }
    >
      {isExporting && (
        <UsageExport operation="exportBilling" title="Export usage for invoices" onClose={() => setExporting(false)} />
      )}
      <Limits />
      <Panel
        title={`Cost by ${bucketSize}`}
        actions={
          <Button
            kind="quiet"
            size="small"
            refused={!read.data?.records.length && "There is nothing to export"}
            onClick={() => download(`billing-${range}.csv`, historyCsv(read.data!), "text/csv")}
          >
            CSV
          </Button>
        }
      >
        <div className={css.costs}>
          <Loaded read={read} lines={6}>
            {(history) => <Costs history={history} />}
          </Loaded>
        </div>
      </Panel>
      <ResourceCosts query={query} />
    </Page>
  );
}

function Costs({ history }: { history: History }) {
  const { times, series } = useMemo(() => {
    const { starts, stacks } = stacked(history);
    return {
      times: starts.map((at) => at / 1000),
      // The highest bars are drawn first, and lower ones over them.
      series: stacks.toReversed().map(({ kind, own, top }) => ({
        ...{ label: KINDS[kind].title, values: top, told: own, color: COLORS[kind], isBars: true },
      })),
    };
  }, [history]);
  const { totals } = history.metadata;
  return (
    <>
      <dl className={css.totals}>
        <Sum title="Together" usd={totals.totalAmount} isWhole />
        {kinds.map((kind) => (
          <Sum key={kind} title={KINDS[kind].title} usd={usdOf(kindSum(totals, kind))} color={COLORS[kind]} />
        ))}
      </dl>
      {history.records.length === 0 ? (
        <p className={css.nothing}>Nothing was paid for in this time.</p>
      ) : (
        <Chart label="Cost by kind" times={times} series={series} format={moneyText} height={220} />
      )}
    </>
  );
}

function Sum({ title, usd, isWhole, color }: { title: string; usd: number; isWhole?: boolean; color?: number }) {
  return (
    <div className={isWhole ? css.whole : undefined}>
      <dt>
        {color !== undefined && (
          <span className={css.swatch} style={{ background: `var(--series-${color})` }} aria-hidden="true" />
        )}
        {title}
      </dt>
      <dd>
        <Money usd={usd} />
      </dd>
    </div>
  );
}
