/** One batch: how far it is, its requests with their outcomes, and what can be done with it. */

import type { Static } from "@millrace/platform/kernel/schema.ts";
import type { Batch, BatchRequestList } from "@millrace/platform/resources/batches/model.ts";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { Ban, Pencil, Play, Plus, Trash2 } from "lucide-react";
import { useMemo, useState } from "react";
import { call } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { keyOf, useRead, useWrite } from "../../api/queries.ts";
import type { Refusal } from "../../api/refusal.ts";
import { Button, IconButton } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Confirm } from "../../design/dialog.tsx";
import { countText, Id, Status, When } from "../../design/facts.tsx";
import { Empty, Facts, Loaded, Page, Panel, Refused } from "../../design/layout.tsx";
import { ShortReason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { BatchForm } from "./batch-form.tsx";
import { RenameBatch } from "./batch-name.tsx";
import { BatchProgress } from "./batch-progress.tsx";
import { statusOf } from "./batches.tsx";
import { shortError } from "./job-timeline.ts";

type Requests = Static<typeof BatchRequestList>;
type Request = Requests["requests"][number];

const LOOK_MS = 3000;
const CHANGED = ["listBatches", "getBatch", "listBatchRequests"] as const;
const isUnderWay = (batch: Batch | undefined) => batch?.status === "FINALIZED" && batch.completedAt === undefined;

export function BatchPage() {
  const { id, batchId } = useParams({ strict: false }) as { id: string; batchId: string };
  const params = { endpoint_id: id, batch_id: batchId };
  const read = useRead(
    "getBatch",
    { params },
    { refetchInterval: ({ state }) => (isUnderWay(state.data as Batch | undefined) ? LOOK_MS : false) },
  ) as unknown as { data: Batch | undefined; error: Refusal | null; refetch: () => unknown };
  return <Loaded read={read}>{(batch) => <Shown endpointId={id} batch={batch} />}</Loaded>;
}

function Shown({ endpointId, batch }: { endpointId: string; batch: Batch }) {
  const params = { endpoint_id: endpointId, batch_id: batch.id };
  const [isAdding, setAdding] = useState(false);
  return (
    <Page
      title={batch.displayName ?? batch.id}
      about={
        <>
          Batch of{" "}
          <Link to="/serverless/$id/batches" params={{ id: endpointId }}>
            this endpoint
          </Link>
        </>
      }
      curl={curlOf("getBatch", { params })}
      actions={<Actions endpointId={endpointId} batch={batch} onAdd={() => setAdding(true)} />}
    >
      <Panel>
        <Facts
          rows={[
            ["Status", <Status key="status" value={statusOf(batch)} />],
            ["Progress", <BatchProgress key="progress" batch={batch} />],
            ["ID", <Id key="id" value={batch.id} />],
            ["Created", <When key="created" at={batch.createdAt} />],
            ["Started", <When key="started" at={batch.finalizedAt} />],
            ["Ended", <When key="ended" at={batch.completedAt} />],
            ["Waiting", countText(batch.requestInQueue)],
            ["Running", countText(batch.requestInProgress)],
            ["Completed", countText(batch.requestCompleted)],
            ["Failed", countText(batch.requestFailed)],
            ["Cancelled", countText(batch.requestCancelled)],
          ]}
        />
      </Panel>
      <RequestList endpointId={endpointId} batch={batch} />
      <BatchForm
        endpointId={endpointId}
        batchId={batch.id}
        isOpen={isAdding}
        onClose={() => setAdding(false)}
        onDone={() => setAdding(false)}
      />
    </Page>
  );
}

interface ActionsProps {
  endpointId: string;
  batch: Batch;
  onAdd: () => void;
}

function Actions({ endpointId, batch, onAdd }: ActionsProps) {
  const params = { endpoint_id: endpointId, batch_id: batch.id };
  const mayNot = useMayNot("serverless:invoke");
  const [isCancelling, setCancelling] = useState(false);
  const finalize = useWrite("finalizeBatch", { changes: CHANGED, onSuccess: () => say("The batch has started") });
  const cancel = useWrite("cancelBatch", { changes: CHANGED, onSuccess: () => setCancelling(false) });
  const [isRenaming, setRenaming] = useState(false);
  const isDraft = batch.status === "DRAFT";
  return (
    <>
      <Button icon={<Pencil />} refused={mayNot} onClick={() => setRenaming(true)}>
        Rename
      </Button>
      {isRenaming && <RenameBatch endpointId={endpointId} batch={batch} onClose={() => setRenaming(false)} />}
      {isDraft && (
        <>
          <Button icon={<Plus />} refused={mayNot} onClick={onAdd}>
            Add requests
          </Button>
          <Button
            kind="primary"
            icon={<Play />}
            isBusy={finalize.isPending}
            refused={mayNot ?? (batch.requestTotal === 0 && "It has no requests yet")}
            onClick={() => finalize.mutate({ params }, { onError: sayRefused })}
          >
            Finalize and start
          </Button>
        </>
      )}
      <Button
        kind="danger"
        icon={<Ban />}
        refused={mayNot ?? (!batch.actions.includes("cancel") && "It has ended")}
        onClick={() => setCancelling(true)}
      >
        Cancel
      </Button>
      <Confirm
        isOpen={isCancelling}
        onClose={() => setCancelling(false)}
        title="Cancel this batch?"
        verb="Cancel the batch"
        isBusy={cancel.isPending}
        refusal={cancel.error}
        onConfirm={() => cancel.mutate({ params })}
      >
        {isDraft
          ? `Its ${countText(batch.requestTotal)} requests never become jobs.`
          : `${countText(batch.requestInQueue)} waiting requests are cancelled. What runs ends as it would.`}
      </Confirm>
    </>
  );
}

const columns: Column<Request>[] = [
  { id: "id", title: "Request", value: ({ id }) => id, cell: ({ id }) => <Id value={id} short="middle" /> },
  { id: "status", title: "Status", value: ({ status }) => status, cell: ({ status }) => <Status value={status} /> },
  {
    id: "outcome",
    title: "Output or error",
    value: (request) => outcomeOf(request),
    cell: (request) => <ShortReason text={outcomeOf(request) ?? null} code={null} />,
    isWide: true,
  },
  {
    id: "started",
    title: "Started",
    value: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => <When at={startedAt} />,
  },
  {
    id: "ended",
    title: "Ended",
    value: ({ completedAt }) => completedAt,
    cell: ({ completedAt }) => <When at={completedAt} />,
  },
];

const LONGEST_OUTCOME = 500;
function outcomeOf({ output, error }: Request): string | undefined {
  if (error !== undefined) return shortError(error);
  return output === undefined ? undefined : JSON.stringify(output).slice(0, LONGEST_OUTCOME);
}

function RequestList({ endpointId, batch }: { endpointId: string; batch: Batch }) {
  const params = { endpoint_id: endpointId, batch_id: batch.id };
  const mayNot = useMayNot("serverless:invoke");
  const isDraft = batch.status === "DRAFT";
  const read = useInfiniteQuery<Requests, Refusal>({
    // A batch that began or ended has changed all of its requests.
    queryKey: keyOf("listBatchRequests", { params, paged: true, of: statusOf(batch) }),
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) =>
      call(
        "listBatchRequests",
        { params, query: { limit: 200, offset: pageParam as number } },
        signal,
      ) as unknown as Promise<Requests>,
    initialPageParam: 0,
    getNextPageParam: ({ hasMore, offset, requests }) => (hasMore ? offset + requests.length : undefined),
    refetchInterval: ({ state }) => (isUnderWay(batch) && (state.data?.pages.length ?? 0) <= 1 ? LOOK_MS : false),
  });
  const { data } = read;
  const rows = useMemo(() => data?.pages.flatMap(({ requests }) => requests), [data]);
  const remove = useWrite("removeBatchRequest", { changes: CHANGED });
  if (read.error && !read.data) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  return (
    <DataTable
      name="batch-requests"
      rows={rows}
      columns={columns}
      idOf={({ id }) => id}
      {...(!isDraft && { linkTo: ({ id }: Request) => `/serverless/${endpointId}/jobs/${id}` })}
      {...(isDraft && {
        rowActions: ({ id }: Request) => (
          <IconButton
            label={`Remove ${id}`}
            size="small"
            icon={<Trash2 />}
            refused={mayNot}
            onClick={() => remove.mutate({ params: { ...params, request_id: id } }, { onError: sayRefused })}
          />
        ),
      })}
      more={{ has: read.hasNextPage, isLoading: read.isFetchingNextPage, load: () => void read.fetchNextPage() }}
      empty={<Empty title="No requests">Add requests from a file.</Empty>}
    />
  );
}
