/** What the list of endpoints shows. Cells read the state of their own endpoint, so only rows in sight are asked for. */

import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { createContext, type ReactNode, useContext } from "react";
import { models } from "../../api/models.data.ts";
import { cache, keyOf } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Id, Money, Status, When } from "../../design/facts.tsx";
import { StateWithReason } from "../../design/reason.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { type usePrices, useStateWith } from "./reads.ts";
import css from "./serverless.module.css";
import { countsOf, type EndpointHealth, MEANING_OF, stateOf } from "./state.ts";

export const TYPE_WORDS = { QUEUE: "Queue", LOAD_BALANCER: "Load balancing" } as const;

/** What the cache knows of an endpoint, to sort by and to export. */
const knownOf = ({ id }: Endpoint) => ({
  health: cache.getQueryData<EndpointHealth>(keyOf("getEndpointHealth", { params: { endpoint_id: id } })),
  workers: cache.getQueryData<{ workers: never[] }>(keyOf("listEndpointWorkers", { params: { id } }))?.workers,
});

/** The state as far as it was read already. */
export function knownState(endpoint: Endpoint) {
  const { health, workers } = knownOf(endpoint);
  return health || workers ? stateOf(endpoint, health, workers) : undefined;
}

const own: readonly Column<Endpoint>[] = [
  {
    id: "name",
    title: "Name",
    value: ({ name }) => name,
    cell: ({ name }) => <strong className={css.name}>{name}</strong>,
  },
  {
    id: "status",
    title: "Status",
    value: (endpoint) => knownState(endpoint)?.status,
    cell: () => <StateCell />,
    isWide: true,
  },
  {
    id: "jobs",
    title: "Queued / running",
    isNumber: true,
    value: (endpoint) => knownOf(endpoint).health?.jobs.inQueue,
    cell: () => <JobsCell />,
  },
  {
    id: "workers",
    title: "Workers",
    isNumber: true,
    value: (endpoint) => countsOf(...(Object.values(knownOf(endpoint)) as [undefined, undefined])).running,
    cell: (endpoint) => <WorkersCell endpoint={endpoint} />,
  },
  {
    id: "compute",
    title: "Compute",
    value: ({ gpu, cpu }) => gpu?.pools.join(" ") ?? cpu?.[0]?.id,
    cell: () => <ComputeCell />,
  },
  {
    id: "cost",
    title: "Cost now",
    isNumber: true,
    value: () => undefined,
    cell: () => <CostCell />,
  },
  // The reasons need the room more than what is seldom asked for.
  { id: "type", title: "Type", value: ({ type }) => TYPE_WORDS[type ?? "QUEUE"], isExtra: true },
  {
    id: "image",
    title: "Image",
    value: ({ image }) => image,
    cell: ({ image }) => (
      <code className={css.cut} title={image}>
        {image}
      </code>
    ),
    isExtra: true,
  },
  {
    id: "created",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
    isExtra: true,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

/** Ours, and after them every other field of the model, to be chosen. */
export const columns = columnsFrom<Endpoint>(models.endpoints, own);

interface CellProps {
  endpoint: Endpoint;
}

type EndpointState = ReturnType<typeof useStateWith>;
const RowState = createContext<EndpointState | undefined>(undefined);
const useRowState = () => useContext(RowState)!;

/** What compute costs, read once for all rows. */
export const Prices = createContext<ReturnType<typeof usePrices>>({ gpus: [], cpus: [] });

/** Reads the state of an endpoint once for all cells of its row. */
export function WithState({ row, children }: { row: Endpoint; children: ReactNode }) {
  return <RowState value={useStateWith(row, useContext(Prices))}>{children}</RowState>;
}

function StateCell() {
  const { status, tone, reason, code, isKnown } = useRowState();
  return (
    <StateWithReason text={reason} code={code} meaning={isKnown ? MEANING_OF[status] : undefined}>
      {isKnown ? <Status value={status} tone={tone} /> : <span className="quiet">…</span>}
    </StateWithReason>
  );
}

function JobsCell() {
  const { health } = useRowState();
  if (!health) return <span className={`quiet ${css.few}`}>–</span>;
  const { inQueue, inProgress } = health.jobs;
  return (
    <span className={`numbers ${css.few}`} title={`${inQueue} in the queue, ${inProgress} in progress`}>
      {inQueue} <span className="quiet">/</span> {inProgress}
    </span>
  );
}

function WorkersCell({ endpoint }: CellProps) {
  const { counts } = useRowState();
  const { running, idle } = counts;
  const { max } = endpoint.workers;
  return (
    <span className="numbers" title={`${running} with jobs, ${idle} idle, at most ${max}`}>
      {running} <span className="quiet">/</span> {idle} <span className="quiet">/ {max}</span>
    </span>
  );
}

function ComputeCell() {
  const { compute } = useRowState();
  return (
    <span className={`${css.cut} ${css.compute}`} title={compute}>
      {compute}
    </span>
  );
}

function CostCell() {
  const { cost } = useRowState();
  return (
    <span className={css.few}>{cost === 0 ? <span className="quiet">$0</span> : <Money usd={cost} per="h" />}</span>
  );
}
