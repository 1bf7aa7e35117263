/** What each resource cost, with links to those that are still there. */
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Id, Money } from "../../design/facts.tsx";
import { Choice } from "../../design/field.tsx";
import { Empty, Panel, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { useView } from "../../shell/view.ts";
import css from "./billing.module.css";
import { costsById, KINDS, type Kind, kinds } from "./sums.ts";

interface Cost {
  id: string;
  kind: Kind;
  name: string | undefined;
  usd: number;
}

const PATHS: Record<Kind, string> = {
  serverless: "/serverless",
  pods: "/pods",
  volumes: "/volumes",
  clusters: "/clusters",
  shared: "/public-endpoints",
};
/** The bill of public endpoints is one sum. What each of them cost is on its own page. */
const SHARED = "public-endpoints";

const columns: Column<Cost>[] = [
  {
    id: "name",
    title: "Resource",
    value: ({ name, id }) => name ?? id,
    cell: ({ name, id, kind }) =>
      name === undefined ? (
        <span className="quiet">deleted</span>
      ) : (
        <Link to={(id === SHARED ? PATHS[kind] : `${PATHS[kind]}/${id}`) as "/"}>{name}</Link>
      ),
  },
  { id: "kind", title: "Kind", value: ({ kind }) => KINDS[kind].title },
  {
    id: "usd",
    title: "Cost, USD",
    value: ({ usd }) => usd,
    cell: ({ usd }) => <Money usd={usd} />,
    isNumber: true,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => (id === SHARED ? "–" : <Id value={id} />) },
];
const ALL = "all";

type Query = { bucketSize: "hour" | "day" | "month"; lastN: number };

export function ResourceCosts({ query }: { query: Query }) {
  const [kind, setKind] = useView<Kind | typeof ALL>("kind", ALL);
  const { rows, error, refetch } = useCosts(query);
  const shown = useMemo(() => rows?.filter((row) => kind === ALL || row.kind === kind), [rows, kind]);
  return (
    <Panel title="By resource">
      {error && !rows ? (
        <Refused refusal={error} retry={refetch} />
      ) : (
        <div className={css.resources}>
          <DataTable
            name="costs"
            rows={shown}
            columns={columns}
            idOf={({ kind: of, id }) => `${of} ${id}`}
            tools={
              <Choice
                label="Kind"
                value={kind}
                onChange={setKind}
                options={[
                  { value: ALL, label: "All kinds" },
                  ...kinds.map((one) => ({ value: one, label: KINDS[one].title })),
                ]}
              />
            }
            empty={<Empty title="Nothing was paid for">Choose a longer range, or another kind.</Empty>}
          />
        </div>
      )}
    </Panel>
  );
}

function useCosts(query: Query) {
  const options = { keep: true } as const;
  const reads = {
    serverless: useRead("listServerlessBilling", { query }, options),
    pods: useRead("listPodBilling", { query }, options),
    volumes: useRead("listNetworkVolumeBilling", { query }, options),
    clusters: useRead("listClusterBilling", { query }, options),
    shared: useRead("listEndpointBilling", { query }, options),
  };
  const names = useNames();
  const ids = { serverless: "serverlessId", pods: "podId", volumes: "networkVolumeId", clusters: "clusterId" };
  const costsOf = (kind: Kind) => {
    if (kind !== "shared") return costsById(reads[kind].data!.records, ids[kind]);
    const usd = reads.shared.data!.metadata.totals.totalAmount;
    return usd > 0 ? [{ id: SHARED, usd }] : [];
  };
  const isRead = names !== undefined && kinds.every((kind) => reads[kind].data);
  const rows = isRead
    ? kinds
        .flatMap((kind) =>
          costsOf(kind).map(({ id, usd }) => ({
            id,
            kind,
            name: id === SHARED ? "Endpoints of other accounts" : names.get(id),
            usd,
          })),
        )
        .toSorted((one, other) => other.usd - one.usd)
    : undefined;
  return {
    rows,
    error: kinds.map((kind) => reads[kind].error).find(Boolean),
    refetch: () => {
      for (const kind of kinds) void reads[kind].refetch();
    },
  };
}

/** Names of what is still there. */
function useNames(): Map<string, string> | undefined {
  const endpoints = useRead("listEndpoints", {});
  const pods = useRead("listPods", {});
  const volumes = useRead("listNetworkVolumes", {});
  const clusters = useRead("listClusters", {});
  // Until they are known, nothing may be called deleted.
  if ([endpoints, pods, volumes, clusters].some(({ isLoading }) => isLoading)) return undefined;
  const all: { id: string; name: string }[] = [
    ...(endpoints.data?.endpoints ?? []),
    ...(pods.data?.pods ?? []),
    ...(volumes.data?.networkVolumes ?? []),
    ...(clusters.data?.clusters ?? []),
  ];
  return new Map(all.map(({ id, name }) => [id, name]));
}
