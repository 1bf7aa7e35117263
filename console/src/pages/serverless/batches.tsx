/** The batches of an endpoint. */
import type { Batch } from "@millrace/platform/resources/batches/model.ts";
import { useNavigate, useParams } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Id, Status, When } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { BatchForm } from "./batch-form.tsx";
import { BatchProgress } from "./batch-progress.tsx";
import { EndpointFrame } from "./frame.tsx";

const columns: Column<Batch>[] = [
  { id: "name", title: "Name", value: ({ displayName, id }) => displayName ?? id },
  { id: "status", title: "Status", value: statusOf, cell: (batch) => <Status value={statusOf(batch)} /> },
  {
    id: "progress",
    title: "Progress",
    value: ({ requestCompleted }) => requestCompleted,
    cell: (batch) => <BatchProgress batch={batch} />,
  },
  { id: "total", title: "Requests", value: ({ requestTotal }) => requestTotal, isNumber: true },
  { id: "failed", title: "Failed", value: ({ requestFailed }) => requestFailed, isNumber: true },
  {
    id: "created",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  {
    id: "ended",
    title: "Ended",
    value: ({ completedAt }) => completedAt,
    cell: ({ completedAt }) => <When at={completedAt} />,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

/** A finalized batch stays so when it has ended, which says little to a reader. */
export function statusOf({ status, completedAt }: Batch): string {
  if (status !== "FINALIZED") return status;
  return completedAt === undefined ? "IN_PROGRESS" : "COMPLETED";
}

/** Batches are not in the account's stream of events, so those that run are looked at now and then. */
const LOOK_MS = 3000;

export function EndpointBatches() {
  const { id } = useParams({ strict: false }) as { id: string };
  const navigate = useNavigate();
  const [isCreating, setCreating] = useState(false);
  const mayNot = useMayNot("serverless:invoke");
  const params = { endpoint_id: id };
  const read = useRead(
    "listBatches",
    { params, query: { limit: 100 } },
    {
      enabled: mayNot === undefined,
      refetchInterval: ({ state }) => (batchesIn(state.data)?.some(isUnderWay) ? LOOK_MS : false),
    },
  );
  const rows = batchesIn(read.data);
  const button = (
    <Button kind="primary" icon={<Plus />} refused={mayNot} onClick={() => setCreating(true)}>
      Create a batch
    </Button>
  );
  return (
    <EndpointFrame curl={curlOf("listBatches", { params })}>
      {() => (
        <>
          {mayNot ? (
            <Empty title="Batches are for those who may submit jobs">{mayNot}</Empty>
          ) : read.error && !rows ? (
            <Refused refusal={read.error as Refusal} retry={() => void read.refetch()} />
          ) : (
            <DataTable
              name="batches"
              rows={rows}
              columns={columns}
              idOf={(batch) => batch.id}
              linkTo={(batch) => `/serverless/${id}/batches/${batch.id}`}
              tools={rows?.length ? button : undefined}
              empty={
                <Empty
                  title="No batches"
                  action={button}
                  command={curlOf("createBatch", { params, body: [{ input: { n: 1 } }, { input: { n: 2 } }] })}
                >
                  A batch gathers up to 5,000 requests, makes them jobs together, and counts them together.
                </Empty>
              }
            />
          )}
          <BatchForm
            endpointId={id}
            isOpen={isCreating}
            onClose={() => setCreating(false)}
            onDone={(batchId) => void navigate({ to: "/serverless/$id/batches/$batchId", params: { id, batchId } })}
          />
        </>
      )}
    </EndpointFrame>
  );
}

const batchesIn = (data: unknown) => (data as { batches: Batch[] } | undefined)?.batches;
const isUnderWay = (batch: Batch) => batch.status === "FINALIZED" && batch.completedAt === undefined;
