/** What waits or does not work, with its reason, and the jobs that failed in the last hour. */

import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import { reasons } from "../../api/reasons.data.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Status, When } from "../../design/facts.tsx";
import { Panel } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import css from "./overview.module.css";
import { type Concern, counted, type ListedJob } from "./standing.ts";

const MOST_SHOWN = 6;

export function Concerns({ concerns }: { concerns: readonly Concern[] }) {
  const rest = concerns.length - MOST_SHOWN;
  return (
    <Panel title="Needs attention" isFlush>
      {concerns.length === 0 ? (
        <Fine>Nothing waits, and everything that should run does.</Fine>
      ) : (
        <ul className={css.list}>
          {concerns.slice(0, MOST_SHOWN).map((concern) => (
            <li key={concern.key}>
              <div className={css.head}>
                <p className={css.line}>
                  <Status value={concern.kind} tone={concern.tone} /> <Link to={concern.to}>{concern.name}</Link>{" "}
                  <span className="quiet">{concern.what}</span>
                </p>
                <ButtonLink to={concern.to as "/"} size="small">
                  Look at it
                </ButtonLink>
              </div>
              <Reason text={concern.reason} code={concern.code} tone={concern.tone} isPlain />
            </li>
          ))}
          {rest > 0 && <li className="quiet">{rest} more in the lists of Pods and endpoints.</li>}
        </ul>
      )}
    </Panel>
  );
}

interface FailedProps {
  failed: readonly { endpoint: { id: string; name: string }; job: ListedJob }[];
  /** How many failed, also of those that are no longer kept. */
  count: number;
}

export function FailedJobs({ failed, count }: FailedProps) {
  return (
    <Panel title="Failed in the last hour" isFlush>
      {failed.length === 0 && count > 0 ? (
        <p className={css.fine}>{counted(count, "job", "jobs")} failed. What became of them is no longer kept.</p>
      ) : failed.length === 0 ? (
        <Fine>No job failed.</Fine>
      ) : (
        <ul className={css.list}>
          {failed.slice(0, MOST_SHOWN).map(({ endpoint, job }) => (
            <li key={job.id}>
              <p className={css.line}>
                <Status value={job.status} />{" "}
                <Link to={`/serverless/${endpoint.id}/jobs/${job.id}` as "/"}>
                  <code title={job.id}>{job.id.slice(-15)}</code>
                </Link>{" "}
                <span className="quiet">
                  of <Link to={`/serverless/${endpoint.id}` as "/"}>{endpoint.name}</Link>,{" "}
                  <When at={job.completedAt} />
                </span>
              </p>
              <p className={css.why} title={remedyOf(job)}>
                {errorText(job)}
              </p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

const errorText = (job: ListedJob) => {
  const { error } = job as { error?: unknown };
  return error === undefined ? undefined : typeof error === "string" ? error : JSON.stringify(error);
};
const remedyOf = ({ errorCode }: ListedJob) => (errorCode ? reasons[errorCode]?.remedy : undefined);

function Fine({ children }: { children: string }) {
  return (
    <p className={css.fine}>
      <CircleCheck aria-hidden="true" /> {children}
    </p>
  );
}
