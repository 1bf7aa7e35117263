/** One job: what happened to it in one timeline, its input, output and stream, and what its worker wrote meanwhile. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { Link, useParams } from "@tanstack/react-router";
import { Ban, RotateCw } from "lucide-react";
import { useMemo } from "react";
import { addressOf } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { CopyButton, countText, Duration, durationText, Id, Status, useNow, When } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel } from "../../design/layout.tsx";
import { Log } from "../../design/log.tsx";
import { Reason } from "../../design/reason.tsx";
import css from "./job.module.css";
import { JobsDialog, useJobActions } from "./job-actions.tsx";
import { streamText, useStream } from "./job-stream.ts";
import { errorText, timelineOf } from "./job-timeline.ts";
import { type Details, isFinal, type Job, useDetails, useJob } from "./jobs-api.ts";
import { OutputView } from "./output-view.tsx";
import { Timeline } from "./timeline.tsx";
import { WaitRemedy } from "./wait-remedy.tsx";

export function JobPage() {
  const { id, jobId } = useParams({ strict: false }) as { id: string; jobId: string };
  const endpoint = useRead("getEndpoint", { params: { id } });
  const job = useJob(id, jobId);
  const details = useDetails(id, jobId);
  return (
    <Loaded read={endpoint}>
      {(known) => (
        <Page
          title={
            <span className={css.name}>
              <code>{jobId}</code>
              <CopyButton text={jobId} label="Copy the id" />
            </span>
          }
          name={`Job ${jobId.slice(0, 8)}`}
          about={
            <span className={css.about}>
              {job.data && <Status value={job.data.status} />}
              <span>
                Job of{" "}
                <Link to="/serverless/$id/jobs" params={{ id }}>
                  {known.name}
                </Link>
              </span>
            </span>
          }
          curl={curlOf("getJob", { params: { endpoint_id: id, job_id: jobId } })}
          actions={job.data && details.data && <Actions endpointId={id} job={job.data} details={details.data} />}
        >
          <Loaded read={job} lines={8}>
            {(record) => (
              <Loaded read={details} lines={8}>
                {(asked) => <Shown endpoint={known} job={record} details={asked} />}
              </Loaded>
            )}
          </Loaded>
        </Page>
      )}
    </Loaded>
  );
}

function Actions({ endpointId, job, details }: { endpointId: string; job: Job; details: Details }) {
  const mayNot = useMayNot("serverless:invoke");
  const actions = useJobActions(endpointId);
  const isOver = isFinal(job.status);
  const canRetry = details.actions.includes("retry");
  return (
    <>
      <ButtonLink to="/serverless/$id/try" params={{ id: endpointId }} search={{ job: job.id }}>
        Run it again as a new job
      </ButtonLink>
      <Button
        icon={<RotateCw />}
        isBusy={actions.progress !== undefined}
        refused={mayNot ?? (!canRetry && "Only a job that failed or timed out can be retried")}
        onClick={() => void actions.retry([job.id])}
      >
        Retry
      </Button>
      <Button
        kind="danger"
        icon={<Ban />}
        refused={mayNot ?? (isOver && "It has ended")}
        onClick={() => actions.ask("cancel", [job.id])}
      >
        Cancel
      </Button>
      <JobsDialog actions={actions} inQueue={0} />
    </>
  );
}

interface ShownProps {
  endpoint: Endpoint;
  job: Job;
  details: Details;
}

function Shown({ endpoint, job, details }: ShownProps) {
  const now = useNow();
  const streamed = useStream(endpoint.id, job.id);
  const moments = timelineOf({ job, details, chunks: streamed.count, now });
  const hasFailed = job.status === "FAILED" || job.status === "TIMED_OUT";
  return (
    <>
      {job.waitReason !== undefined && (
        <Reason text={job.waitReason} code={job.waitReasonCode}>
          <WaitRemedy code={job.waitReasonCode} endpoint={endpoint} />
        </Reason>
      )}
      {hasFailed && (
        <Reason
          text={job.error === undefined ? "It ended without an error text." : errorText(job.error)}
          code={job.errorCode}
          tone="bad"
        >
          {job.errorCode === undefined && <span className="quiet">This is the error of the handler itself.</span>}
        </Reason>
      )}
      <div className={css.columns}>
        <div className={css.main}>
          <Output job={job} streamed={streamed} />
          <Panel title="Input">
            <OutputView value={details.input} label="Input" name={`input-${job.id}`} />
          </Panel>
        </div>
        <div className={css.side}>
          <Panel title="Timeline">
            <Timeline moments={moments} endpointId={endpoint.id} />
          </Panel>
          <Panel title="Facts">
            <About job={job} details={details} />
          </Panel>
          <Panel title="Send the same again">
            <Code text={curlOf("runJob", { params: { endpoint_id: endpoint.id }, body: resent(details) })} />
          </Panel>
        </div>
      </div>
      <WorkerLog endpointId={endpoint.id} job={job} details={details} />
    </>
  );
}

const LONGEST_RESENT = 20_000;

/** A very long input would make a command that no shell takes. */
function resent({ input }: Details): unknown {
  return JSON.stringify(input).length > LONGEST_RESENT ? { input: "…" } : { input };
}

function Output({ job, streamed }: { job: Job; streamed: ReturnType<typeof useStream> }) {
  const isRunning = job.status === "IN_PROGRESS";
  const hasOutput = job.output !== undefined;
  const text = streamText(streamed.chunks);
  // What a job that streams nothing returns comes as one chunk of its stream, too.
  const isSame = isFinal(job.status) && streamed.count === 1 && hasOutput;
  return (
    <>
      {streamed.count > 0 && !isSame && (
        <Panel
          title="Stream"
          about={`${countText(streamed.count)} ${streamed.count === 1 ? "chunk" : "chunks"}${isRunning ? " so far" : ""}`}
        >
          <Code text={text} label="Copy the stream" />
        </Panel>
      )}
      <Panel title={isRunning ? "Progress" : "Output"}>
        {hasOutput ? (
          <OutputView value={job.output} label={isRunning ? "Progress" : "Output"} name={`output-${job.id}`} />
        ) : (
          <p className="quiet">{withoutOutput(job)}</p>
        )}
        {job.rawOutput !== undefined && <Code text={job.rawOutput} label="Copy what came" />}
      </Panel>
    </>
  );
}

const withoutOutput = ({ status }: Job) =>
  status === "IN_QUEUE"
    ? "It has not begun."
    : status === "IN_PROGRESS"
      ? "The handler has reported no progress yet."
      : "It ended without an output.";

function About({ job, details }: { job: Job; details: Details }) {
  const { policy, retries, attempts, endsBy, keptUntil, webhooks } = details;
  return (
    <Facts
      rows={[
        job.workerId !== undefined && ["Worker", <Id key="worker" value={job.workerId} />],
        ["Submitted", <When key="created" at={details.createdAt} />],
        ["Delay", <Duration key="delay" ms={job.delayTime} />],
        ["Execution", <Duration key="execution" ms={job.executionTime} />],
        ["Runs", `${attempts}${retries ? `, ${retries} beyond the first` : ""}`],
        ["May run for", durationText(policy.executionTimeout)],
        ["Error retries", String(policy.retries)],
        policy.lowPriority && ["Priority", "Low: it starts no further worker"],
        endsBy !== undefined && ["Times out", <When key="ends" at={endsBy} />],
        keptUntil !== undefined && ["Kept until", <When key="kept" at={keptUntil} />],
        webhooks !== undefined && ["Webhooks", webhooks.join(", ")],
      ]}
    />
  );
}

/** Lines are often written a moment before or after the job that they are about. */
const AROUND_MS = 1000;

function WorkerLog({ endpointId, job, details }: { endpointId: string; job: Job; details: Details }) {
  const { workerId } = job;
  const { startedAt, completedAt } = details;
  const streams = useMemo(() => {
    if (workerId === undefined || startedAt === undefined) return [];
    const since = new Date(Date.parse(startedAt) - AROUND_MS).toISOString();
    return [
      {
        from: workerId,
        address: addressOf("getWorkerLogs", { params: { id: endpointId, workerId }, query: { since } }),
      },
    ];
  }, [endpointId, workerId, startedAt]);
  if (streams.length === 0) return null;
  return (
    <Panel
      title="Log of its worker"
      about={completedAt === undefined ? "Since the job was taken." : "While the job ran."}
      actions={
        <ButtonLink size="small" to="/serverless/$id/logs" params={{ id: endpointId }} search={{ from: workerId }}>
          The whole log
        </ButtonLink>
      }
    >
      <Log
        key={`${workerId} ${startedAt}`}
        name={`job-${job.id}`}
        streams={streams}
        isShort
        {...(completedAt !== undefined && { until: Date.parse(completedAt) + AROUND_MS })}
        empty="The worker wrote nothing while it had this job."
      />
    </Panel>
  );
}
