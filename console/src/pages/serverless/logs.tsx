/** The logs of all workers of an endpoint in one stream, with the worker as a tag. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { addressOf } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Empty, Loaded } from "../../design/layout.tsx";
import { Log } from "../../design/log.tsx";
import { useViewList } from "../../shell/view.ts";
import { EndpointFrame } from "./frame.tsx";

export function EndpointLogs() {
  const { id } = useParams({ strict: false }) as { id: string };
  const curl = curlOf("getWorkerLogs", { params: { id, workerId: "WORKER" } }).replace("curl ", "curl -N ");
  return <EndpointFrame curl={curl}>{(endpoint) => <Logs endpoint={endpoint} />}</EndpointFrame>;
}

/** A browser opens six connections to one server in all of its windows, and pages need some for themselves. */
const MOST_STREAMS = 3;
const TAIL = 1000;

function Logs({ endpoint: { id } }: { endpoint: Endpoint }) {
  const read = useRead("listEndpointWorkers", { params: { id } });
  return (
    <Loaded read={read}>
      {({ workers }) => <OfWorkers endpointId={id} workers={workers.map(({ id: worker }) => worker)} />}
    </Loaded>
  );
}

function OfWorkers({ endpointId, workers }: { endpointId: string; workers: readonly string[] }) {
  const [chosen] = useViewList("from");
  // A worker that has ended can still be chosen by its address, as a job's page does.
  const wanted = [...new Set([...chosen, ...workers])].slice(0, MOST_STREAMS);
  const key = wanted.join(",");
  const streams = useMemo(
    () =>
      key === ""
        ? []
        : key.split(",").map((from) => ({
            from,
            address: addressOf("getWorkerLogs", { params: { id: endpointId, workerId: from }, query: { tail: TAIL } }),
          })),
    [key, endpointId],
  );
  if (streams.length === 0) {
    return (
      <Empty
        title="No worker runs"
        action={
          <ButtonLink kind="primary" to="/serverless/$id/try" params={{ id: endpointId }}>
            Try it
          </ButtonLink>
        }
      >
        Workers start with the first job, and their logs appear here.
      </Empty>
    );
  }
  return (
    <>
      {workers.length > streams.length && (
        <p className="quiet">
          {streams.length} of {workers.length} workers are followed at once. Choose others under “sources”.
        </p>
      )}
      <Log name={`endpoint-${endpointId}`} streams={streams} choices={workers} hasTags />
    </>
  );
}
