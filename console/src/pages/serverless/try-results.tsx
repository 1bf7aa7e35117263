/** What came back from a call of Try it: a job with its stream and output, a chat, or the answer of a worker. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Duration, durationText, Status, useNow } from "../../design/facts.tsx";
import { Panel, Refused } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { streamText, useStream } from "./job-stream.ts";
import { errorText } from "./job-timeline.ts";
import type { Job } from "./jobs-api.ts";
import { OutputView } from "./output-view.tsx";
import css from "./try.module.css";
import { chatText } from "./try-modes.ts";
import type { useCall } from "./use-call.ts";
import { WaitRemedy } from "./wait-remedy.tsx";

type Call = ReturnType<typeof useCall>;

/** What is called: an endpoint of the account, or one that another account shares, by its name. */
export interface Called extends Pick<Endpoint, "id" | "type"> {
  /** Its workers, logs and settings are not the caller's to see. */
  isOfOthers?: boolean;
}

interface JobResultProps {
  endpoint: Called;
  call: Call;
  job: Job | undefined;
  isOver: boolean;
}

export function JobResult({ endpoint, call, job, isOver }: JobResultProps) {
  const streamed = useStream(endpoint.id, call.jobId);
  const text = streamText(streamed.chunks);
  const hasStream = streamed.count > 0 && !(isOver && streamed.count === 1);
  return (
    <Panel
      title="Answer"
      about={job && <Times job={job} />}
      actions={call.jobId !== undefined && <JobLink endpoint={endpoint} jobId={call.jobId} />}
    >
      <div className={css.result} aria-live="polite">
        {call.refusal && <Refused refusal={call.refusal} />}
        {call.isBusy && !job && <p className="quiet">It is being sent…</p>}
        {job && <Standing endpoint={endpoint} job={job} />}
        {hasStream && <Code text={text} label="Copy the stream" />}
        {job?.output !== undefined && !(hasStream && !isOver) && (
          <OutputView value={job.output} label={isOver ? "Output" : "Progress"} name={`output-${job.id}`} />
        )}
      </div>
    </Panel>
  );
}

function JobLink({ endpoint, jobId }: { endpoint: Called; jobId: string }) {
  if (endpoint.isOfOthers)
    return (
      <ButtonLink
        size="small"
        to="/public-endpoints/$id/jobs"
        params={{ id: endpoint.id }}
        search={{ job: jobId } as never}
      >
        See the job
      </ButtonLink>
    );
  return (
    <ButtonLink size="small" to="/serverless/$id/jobs/$jobId" params={{ id: endpoint.id, jobId }}>
      See the job
    </ButtonLink>
  );
}

function Times({ job: { delayTime, executionTime } }: { job: Job }) {
  return [
    delayTime !== undefined && `waited ${durationText(delayTime)}`,
    executionTime !== undefined && `ran ${durationText(executionTime)}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** Where the job is, why it waits, or why it failed. */
function Standing({ endpoint, job }: { endpoint: Called; job: Job }) {
  return (
    <>
      <p>
        <Status value={job.status} />
      </p>
      {job.waitReason !== undefined && (
        <Reason text={job.waitReason} code={job.waitReasonCode}>
          {!endpoint.isOfOthers && <WaitRemedy code={job.waitReasonCode} endpoint={endpoint} />}
        </Reason>
      )}
      {job.error !== undefined && <Reason text={errorText(job.error)} code={job.errorCode} tone="bad" />}
    </>
  );
}

export function ChatResult({ endpoint, call, job }: { endpoint: Called; call: Call; job: Job | undefined }) {
  const said = chatText(call.text);
  const now = useNow();
  const { beganAt = now } = call;
  return (
    <Panel
      title="Answer"
      about={
        call.tookMs === undefined ? `since ${durationText(Math.max(0, now - beganAt))}` : durationText(call.tookMs)
      }
      actions={call.jobId !== undefined && <JobLink endpoint={endpoint} jobId={call.jobId} />}
    >
      <div className={css.result} aria-live="polite">
        {call.refusal && <Refused refusal={call.refusal} />}
        {call.isBusy && job && job.status === "IN_QUEUE" && <Standing endpoint={endpoint} job={job} />}
        {said !== "" && <p className={css.said}>{said}</p>}
        {said === "" && call.text !== "" && <Code text={call.text} label="Copy the answer" />}
        {said === "" && call.text === "" && call.isBusy && <p className="quiet">No word has come yet.</p>}
        {said !== "" && !call.isBusy && (
          <details>
            <summary>As it came</summary>
            <Code text={call.text} label="Copy the answer" />
          </details>
        )}
      </div>
    </Panel>
  );
}

export function HttpResult({ call }: { call: Call }) {
  const { answer, text, picture, refusal, isBusy } = call;
  return (
    <Panel title="Answer" about={answer && <Duration ms={answer.ms} />}>
      <div className={css.result} aria-live="polite">
        {refusal && <Refused refusal={refusal} />}
        {isBusy && !answer && <p className="quiet">No answer has come yet. A worker may have to start first.</p>}
        {answer && (
          <p>
            <Status
              value={`${answer.status} ${answer.statusText}`}
              tone={answer.status < 400 ? "good" : answer.status < 500 ? "wait" : "bad"}
            />
          </p>
        )}
        {picture && <img src={picture} alt="What the worker answered" className={css.picture} />}
        {text !== "" && <Code text={prettyJson(text, answer?.type)} label="Copy the answer" />}
        {answer && (
          <details>
            <summary>Headers</summary>
            <Code text={answer.headers.map(([name, value]) => `${name}: ${value}`).join("\n")} />
          </details>
        )}
      </div>
    </Panel>
  );
}

function prettyJson(text: string, type = ""): string {
  if (!type.includes("json")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
