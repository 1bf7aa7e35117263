/** The logs of all workers of an endpoint in one stream, with the worker as a tag. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { Link, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { addressOf } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { Loaded } from "../../design/layout.tsx";
import { Log } from "../../design/log.tsx";
import { useViewList } from "../../shell/view.ts";
import { EndpointFrame } from "./frame.tsx";

const TAIL = 1000;
/** A browser opens six connections to one server in all of its windows, and pages need some for themselves. */
const MOST_ENDED = 2;

export function EndpointLogs() {
  const { id } = useParams({ strict: false }) as { id: string };
  const curl = curlOf("getEndpointLogs", { params: { id } }).replace("curl ", "curl -N ");
  return <EndpointFrame curl={curl}>{(endpoint) => <Logs endpoint={endpoint} />}</EndpointFrame>;
}

function Logs({ endpoint: { id } }: { endpoint: Endpoint }) {
  const read = useRead("listEndpointWorkers", { params: { id } });
  return (
    <Loaded read={read}>
      {({ workers }) => <OfWorkers endpointId={id} workers={workers.map(({ id: worker }) => worker)} />}
    </Loaded>
  );
}

function OfWorkers({ endpointId: id, workers }: { endpointId: string; workers: readonly string[] }) {
  const [chosen] = useViewList("from");
  // A worker that has ended is not part of the stream, but a job's page leads to its log. One that ends later stays in the stream.
  const [ended] = useState(() => chosen.filter((from) => !workers.includes(from)).slice(0, MOST_ENDED));
  const streams = useMemo(
    () => [
      { from: "", address: addressOf("getEndpointLogs", { params: { id }, query: { tail: TAIL } }) },
      ...ended.map((from) => ({
        from,
        address: addressOf("getWorkerLogs", { params: { id, workerId: from }, query: { tail: TAIL } }),
      })),
    ],
    [id, ended],
  );
  return (
    <Log
      name={`endpoint-${id}`}
      streams={streams}
      choices={workers}
      hasTags
      empty={
        workers.length > 0 ? undefined : (
          <>
            No worker runs. Workers start with the first job, and their lines appear here.{" "}
            <Link to="/serverless/$id/try" params={{ id }}>
              Try it
            </Link>
          </>
        )
      }
    />
  );
}
