/** The workers of an endpoint: what each does, why it does not, where it runs and for how long. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { Link, useParams } from "@tanstack/react-router";
import { ScrollText, SquareTerminal } from "lucide-react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { records } from "../../api/models.data.ts";
import { ButtonLink } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Duration, Id, Status } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { StateWithReason } from "../../design/reason.tsx";
import { Segments } from "../../design/segments.tsx";
import { DataTable } from "../../design/table.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { useView } from "../../shell/view.ts";
import { EndpointFrame } from "./frame.tsx";
import { usePrices, useWorkers } from "./reads.ts";
import css from "./serverless.module.css";
import { whyNoTerminal, wordOf } from "./worker-words.ts";

export function EndpointWorkers() {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <EndpointFrame curl={curlOf("listEndpointWorkers", { params: { id } })}>
      {(endpoint) => <Workers endpoint={endpoint} />}
    </EndpointFrame>
  );
}

const ANY = "all";
const STATUSES = [ANY, "RUNNING", "IDLE", "INITIALIZING", "THROTTLED", "UNHEALTHY"] as const;

function Workers({ endpoint }: { endpoint: Endpoint }) {
  const read = useWorkers(endpoint.id);
  const [status, setStatus] = useView<string>("status", ANY);
  const columns = useColumns(endpoint);
  const { workers, summary, endpointVersion } = read.data ?? {};
  if (read.error && !workers) return <Refused refusal={read.error} retry={() => void read.refetch()} />;
  const counts: Record<string, number> = { ...summary };
  const options = STATUSES.map((value) => ({
    value: value as string,
    label: value === ANY ? `All ${summary?.total ?? ""}` : `${wordOf(value)} ${counts[value.toLowerCase()] ?? ""}`,
  }));
  return (
    <>
      <DataTable
        name={`workers-of-endpoints`}
        rows={workers?.filter((worker) => status === ANY || worker.status === status)}
        columns={columns}
        idOf={({ id }) => id}
        tools={<Segments label="Status" value={status} options={options} onChange={setStatus} />}
        rowActions={(worker) => <WorkerLinks endpoint={endpoint} worker={worker} />}
        empty={
          workers?.length ? (
            <Empty title="No worker fits the filter">Choose another status to see the rest.</Empty>
          ) : (
            <Empty
              title="No worker runs"
              command={curlOf("listEndpointWorkers", { params: { id: endpoint.id } })}
              action={
                <ButtonLink to="/serverless/$id/try" params={{ id: endpoint.id }} kind="primary">
                  Try it
                </ButtonLink>
              }
            >
              {endpoint.workers.max === 0
                ? "The endpoint is paused. Resume it to let workers start."
                : "A worker starts with the first job or request, and ends when there is nothing to do."}
            </Empty>
          )
        }
      />
      {endpointVersion !== undefined && endpointVersion !== null && (
        <p className={css.note}>
          The newest release is {endpointVersion}. Workers of older releases end when they are done.{" "}
          <Link to="/serverless/$id/releases" params={{ id: endpoint.id }}>
            Releases
          </Link>
        </p>
      )}
    </>
  );
}

function useColumns(endpoint: Endpoint): Column<Worker>[] {
  const { gpus } = usePrices();
  const machineOf = ({ gpuTypeId, gpuCount }: Worker) =>
    gpuTypeId
      ? `${gpuCount > 1 ? `${gpuCount}x ` : ""}${gpus.find(({ id }) => id === gpuTypeId)?.name ?? gpuTypeId}`
      : "CPU";
  return columnsFrom<Worker>(records.workers, [
    { id: "id", title: "Worker", value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
    {
      id: "status",
      title: "Status",
      fields: ["reason", "reasonCode", "frozen"],
      value: ({ status }) => status,
      cell: ({ status, frozen, reason, reasonCode }) => (
        <StateWithReason text={reason} code={reasonCode}>
          <Status value={frozen ? "FROZEN" : status} />
        </StateWithReason>
      ),
      isWide: true,
    },
    {
      id: "job",
      title: "Jobs",
      value: () => undefined,
      cell: ({ id, status }) =>
        status === "RUNNING" && endpoint.type === "QUEUE" ? (
          <Link to="/serverless/$id/jobs" params={{ id: endpoint.id }} search={{ worker: id, status: "IN_PROGRESS" }}>
            Its jobs
          </Link>
        ) : (
          <span className="quiet">–</span>
        ),
    },
    {
      id: "machine",
      title: "Compute",
      fields: ["gpuTypeId", "gpuCount"],
      value: machineOf,
      cell: machineOf,
    },
    { id: "dataCenterId", title: "Where", value: ({ dataCenterId }) => dataCenterId },
    {
      id: "version",
      title: "Release",
      isNumber: true,
      fields: ["isStale"],
      value: ({ version }) => version,
      cell: ({ version, isStale }) =>
        version === null ? (
          <span className="quiet">by hand</span>
        ) : (
          <span className="numbers">
            {version} {isStale && <span className="quiet">old</span>}
          </span>
        ),
    },
    {
      id: "uptimeSeconds",
      title: "Up for",
      isNumber: true,
      fields: ["startedAt"],
      value: ({ uptimeSeconds }) => uptimeSeconds,
      cell: ({ uptimeSeconds }) => (
        <Duration ms={uptimeSeconds === null || uptimeSeconds === undefined ? null : uptimeSeconds * 1000} />
      ),
    },
  ]);
}

function WorkerLinks({ endpoint, worker }: { endpoint: Endpoint; worker: Worker }) {
  const mayNot = useMayNot("serverless:exec");
  const params = { id: endpoint.id, workerId: worker.id };
  return (
    <span className={css.links}>
      <ButtonLink
        size="small"
        kind="quiet"
        icon={<ScrollText />}
        to="/serverless/$id/logs"
        params={{ id: endpoint.id }}
        search={{ from: worker.id }}
      >
        Log
      </ButtonLink>
      {!mayNot && whyNoTerminal(worker) === undefined && (
        <ButtonLink
          size="small"
          kind="quiet"
          icon={<SquareTerminal />}
          to="/serverless/$id/workers/$workerId/terminal"
          params={params}
        >
          Terminal
        </ButtonLink>
      )}
    </span>
  );
}
