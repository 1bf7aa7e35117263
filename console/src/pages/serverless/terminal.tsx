/** A shell in a worker, beside its program. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { call } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Empty, Loaded } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { Terminal } from "../../design/terminal.tsx";
import { EndpointFrame } from "./frame.tsx";
import { useWorkers } from "./reads.ts";
import css from "./serverless.module.css";
import { whyNoTerminal } from "./worker-words.ts";

export function WorkerTerminal() {
  const { id, workerId } = useParams({ strict: false }) as { id: string; workerId: string };
  return (
    <EndpointFrame curl={curlOf("createWorkerTerminal", { params: { id, workerId } })}>
      {(endpoint) => <Shell key={workerId} endpoint={endpoint} workerId={workerId} />}
    </EndpointFrame>
  );
}

function Shell({ endpoint: { id }, workerId }: { endpoint: Endpoint; workerId: string }) {
  const mayNot = useMayNot("serverless:exec");
  const read = useWorkers(id);
  const back = (
    <ButtonLink to="/serverless/$id/workers" params={{ id }}>
      All workers
    </ButtonLink>
  );
  if (mayNot)
    return (
      <Empty title="You may not open a terminal" action={back}>
        {mayNot}
      </Empty>
    );
  return (
    <Loaded read={read}>
      {({ workers }) => {
        const worker = workers.find((one) => one.id === workerId);
        const refused = worker ? whyNoTerminal(worker) : "It has ended. Workers come and go with the work.";
        if (refused)
          return (
            <>
              <Reason text={worker?.reason} code={worker?.reasonCode} />
              <Empty title={`No terminal in worker ${workerId}`} action={back}>
                {refused}
              </Empty>
            </>
          );
        return (
          <>
            <p className={css.note}>
              A shell in worker {workerId}. The worker may end when it has nothing to do, and the shell ends with it:
              raise the least number of workers to keep one.
            </p>
            <Terminal
              label={`Terminal in worker ${workerId}`}
              ask={(size) => call("createWorkerTerminal", { params: { id, workerId }, body: size })}
            />
          </>
        );
      }}
    </Loaded>
  );
}
