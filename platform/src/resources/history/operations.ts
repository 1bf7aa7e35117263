/** Operations on the history of metrics: columns of numbers over one range. */
import type { Operations } from "../../kernel/operation.ts";
import { dateTime, nullable, oneOf, t } from "../../kernel/schema.ts";
import { type Layout, layouts, type Measured, ranges, shares, tiers } from "./model.ts";

const MOST_POINTS = Math.max(...tiers.map(({ points }) => points));

const column = (description: string) => t.Array(nullable(t.Number()), { maxItems: MOST_POINTS, description });

function columns({ gauges, sums, quantiles }: Layout) {
  const plain = [...gauges, ...sums].map(({ name, description }) => [name, column(description)] as const);
  const spread = quantiles.flatMap(({ name, description }) =>
    Object.keys(shares).map((end) => {
      const text = `${description}, in ms: ${end.slice(1)} % took no longer. Null where no job ended.`;
      return [name + end, column(text)] as const;
    }),
  );
  return t.Object(Object.fromEntries([...plain, ...spread]));
}

const historyOf = (kind: Measured, $id: string) =>
  t.Object(
    {
      range: oneOf(ranges),
      start: dateTime("When the first step begins."),
      end: dateTime("When the last step ends."),
      step: t.Integer({ description: "Seconds that each point stands for." }),
      series: {
        ...columns(layouts[kind]),
        description: "One value for each step; null where nothing is known. All are equally long.",
      },
    },
    { $id },
  );

const EndpointHistory = historyOf("endpoint", "EndpointMetricsHistory");
const PodHistory = historyOf("pod", "PodMetricsHistory");
const AccountHistory = historyOf("account", "AccountMetricsHistory");

const historyQuery = t.Object({
  range: t.Optional(oneOf(ranges, { default: "1h", description: "How long back it goes." })),
  end: t.Optional(dateTime("Until when; now by default. Points older than the range are no longer kept.")),
});

const reads = { method: "GET", query: historyQuery, status: 200 } as const;
const RANGES =
  "`1h` in steps of 10 s, `24h` of 4 minutes, `7d` of 30 minutes, `30d` of 2 hours: at most 360 points of each series. A crash loses at most the last minute.";

export const historyOperations = {
  getEndpointMetricsHistory: {
    ...reads,
    path: "/v2/serverless/{id}/metrics/history",
    summary: "Get the history of an endpoint's metrics",
    description: `Jobs, delays, workers and what they use. ${RANGES}`,
    tag: "Serverless",
    out: EndpointHistory,
    scope: "serverless:read",
    narrowed: "own",
  },
  getPodMetricsHistory: {
    ...reads,
    path: "/v2/pods/{id}/metrics/history",
    summary: "Get the history of a Pod's metrics",
    description: `What its program uses. ${RANGES}`,
    tag: "Pods",
    out: PodHistory,
    scope: "pods:read",
    narrowed: "refused",
  },
  getAccountMetricsHistory: {
    ...reads,
    path: "/v2/account/metrics/history",
    summary: "Get the history of the account's metrics",
    description: `What it cost by the hour, and what ran. ${RANGES}`,
    tag: "Account",
    out: AccountHistory,
    scope: "account:read",
    narrowed: "refused",
  },
} as const satisfies Operations;
