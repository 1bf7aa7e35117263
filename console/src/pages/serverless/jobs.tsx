/** The jobs of an endpoint: filtered by several statuses, found by id, cancelled or retried together. */
import { jobLifecycle } from "@millrace/platform/ports/queue/job.ts";
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { RotateCw, X } from "lucide-react";
import { useCallback } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { countText, wordsOf } from "../../design/facts.tsx";
import { useLasting } from "../../design/lasting.ts";
import { Empty, Refused } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { Reason } from "../../design/reason.tsx";
import { SearchBox } from "../../design/search-box.tsx";
import { DataTable } from "../../design/table.tsx";
import { useView, useViewList } from "../../shell/view.ts";
import { EndpointFrame } from "./frame.tsx";
import { JobsDialog, useJobActions } from "./job-actions.tsx";
import { columns } from "./job-columns.tsx";
import css from "./jobs.module.css";
import { type ListedJob, queryOf, states, useDetails, useHealth, useJobCount, useJobList } from "./jobs-api.ts";
import { WaitRemedy } from "./wait-remedy.tsx";

export function EndpointJobs() {
  const { id } = useParams({ strict: false }) as { id: string };
  const [statuses] = useViewList("status");
  const [worker] = useView<string>("worker", "");
  return (
    <EndpointFrame curl={curlOf("listJobs", { params: { endpoint_id: id }, query: queryOf({ statuses, worker }) })}>
      {(endpoint) => <Jobs endpoint={endpoint} />}
    </EndpointFrame>
  );
}

/** Shorter ones are looked for in what is loaded; a whole one the server knows. */
const WHOLE_ID = /^[\w-]{36,}$/;
const RETRIABLE = jobLifecycle.states.filter((state) => jobLifecycle.can(state, "retry"));

function Jobs({ endpoint }: { endpoint: Endpoint }) {
  const { id } = endpoint;
  const [statuses] = useViewList("status");
  const [worker] = useView<string>("worker", "");
  const [find] = useView<string>("find", "");
  const isWhole = WHOLE_ID.test(find);
  const list = useJobList(id, { statuses, worker }, true);
  const found = useDetails(id, isWhole ? find : undefined);
  const health = useHealth(id);
  const actions = useJobActions(id);
  const rows = rowsOf(list.rows, find, isWhole, found);
  const mayNot = useMayNot("serverless:invoke");
  const linkTo = useCallback(({ id: job }: ListedJob) => `/serverless/${id}/jobs/${job}`, [id]);
  const rowActions = (job: ListedJob) => <RowActions job={job} actions={actions} mayNot={mayNot} />;
  const why = health && health.jobs.inQueue > 0 ? (health.waitReasonCode ?? health.waitReason) : undefined;
  const waits = useLasting(why === undefined ? [] : [why], health === undefined).size > 0;
  return (
    <>
      {waits && (
        <Reason text={health?.waitReason} code={health?.waitReasonCode}>
          <WaitRemedy code={health?.waitReasonCode} endpoint={endpoint} />
        </Reason>
      )}
      {list.error && !list.rows ? (
        <Refused refusal={list.error} retry={() => void list.refresh()} />
      ) : (
        <DataTable
          name="jobs"
          isLong
          rows={rows}
          columns={columns}
          idOf={({ id: job }) => job}
          linkTo={linkTo}
          tools={
            <Tools endpointId={id} total={list.total} onPurge={() => actions.ask("purge", [])} actions={actions} />
          }
          bulk={(ids, clear) => <Bulk rows={rows ?? []} ids={ids} clear={clear} actions={actions} />}
          rowActions={rowActions}
          more={find === "" ? list.more : { has: false, isLoading: false, load: () => undefined }}
          empty={
            <NoJobs
              endpoint={endpoint}
              isFiltered={statuses.length > 0 || worker !== "" || find !== ""}
              find={find}
              searchedJobs={!isWhole && list.more.has ? list.rows?.length : undefined}
            />
          }
        />
      )}
      {!list.isLive && (
        <p className={css.notLive}>
          So many jobs are not read again by themselves.{" "}
          <Button size="small" icon={<RotateCw />} onClick={() => void list.refresh()}>
            Read the newest
          </Button>
        </p>
      )}
      <JobsDialog actions={actions} inQueue={health?.jobs.inQueue ?? 0} />
    </>
  );
}

type Found = { data: ListedJob | undefined; error: unknown };

function rowsOf(rows: ListedJob[] | undefined, find: string, isWhole: boolean, found: Found) {
  if (find === "") return rows;
  const known = rows?.filter(({ id }) => id.includes(find));
  if (!isWhole) return known;
  if (found.data) return [found.data];
  // So long a text may still be a part of an id, without its end.
  return found.error ? known : undefined;
}

interface ToolsProps {
  endpointId: string;
  total: number | undefined;
  onPurge: () => void;
  actions: ReturnType<typeof useJobActions>;
}

function Tools({ endpointId, total, onPurge, actions }: ToolsProps) {
  const [statuses, setStatuses] = useViewList("status");
  const [worker, setWorker] = useView<string>("worker", "");
  const [find, setFind] = useView<string>("find", "");
  const health = useHealth(endpointId);
  const failed = useJobCount(endpointId, RETRIABLE);
  const mayNot = useMayNot("serverless:invoke");
  const counts: Record<string, number | undefined> = {
    IN_QUEUE: health?.jobs.inQueue,
    IN_PROGRESS: health?.jobs.inProgress,
  };
  const toggle = (state: string) =>
    setStatuses(statuses.includes(state) ? statuses.filter((other) => other !== state) : [...statuses, state]);
  return (
    <>
      <SearchBox label="Find by job id" value={find} onChange={(text) => setFind(text.trim())} isWide />
      <fieldset className={css.states}>
        <legend className="hidden">Statuses</legend>
        {states.map((state) => (
          <button
            key={state}
            type="button"
            className={css.state}
            aria-pressed={statuses.includes(state)}
            onClick={() => toggle(state)}
          >
            {wordsOf(state)}
            {counts[state] !== undefined && <span className="numbers">{countText(counts[state])}</span>}
          </button>
        ))}
      </fieldset>
      {worker !== "" && (
        <Button
          size="small"
          icon={<X />}
          onClick={() => setWorker("")}
          aria-label={`Jobs of all workers, not only ${worker}`}
        >
          Worker <code>{worker}</code>
        </Button>
      )}
      {total !== undefined && (statuses.length > 0 || worker !== "") && (
        <span className={css.total}>
          {countText(total)} {total === 1 ? "fits" : "fit"}
        </span>
      )}
      <Menu
        label="Actions for many jobs"
        trigger={<Button size="small">Retry or purge…</Button>}
        items={[
          {
            label: failed ? `Retry all ${countText(failed)} failed` : "Retry all failed",
            refused: mayNot ?? (failed === 0 && "No job failed or timed out"),
            onSelect: () => actions.ask("retryAll", []),
          },
          {
            label: "Purge the queue",
            isDanger: true,
            refused: mayNot ?? (health?.jobs.inQueue === 0 && "No job waits"),
            onSelect: onPurge,
          },
        ]}
      />
    </>
  );
}

interface BulkProps {
  rows: readonly ListedJob[];
  ids: readonly string[];
  clear: () => void;
  actions: ReturnType<typeof useJobActions>;
}

function Bulk({ rows, ids, clear, actions }: BulkProps) {
  const mayNot = useMayNot("serverless:invoke");
  const chosen = new Set(ids);
  const allowing = (action: "cancel" | "retry") =>
    rows.filter((job) => chosen.has(job.id) && job.actions.includes(action)).map(({ id }) => id);
  const cancellable = allowing("cancel");
  const retriable = allowing("retry");
  return (
    <>
      <Button
        size="small"
        kind="danger"
        refused={mayNot ?? (cancellable.length === 0 && "All of them have ended")}
        onClick={() => actions.ask("cancel", cancellable, clear)}
      >
        Cancel {cancellable.length || ""}
      </Button>
      <Button
        size="small"
        refused={mayNot ?? (retriable.length === 0 && "None of them failed or timed out")}
        isBusy={actions.progress !== undefined}
        onClick={() => void actions.retry(retriable).then(clear)}
      >
        Retry {actions.progress ? `${actions.progress.done} of ${actions.progress.of}` : retriable.length || ""}
      </Button>
      <Button size="small" kind="quiet" onClick={clear}>
        Choose none
      </Button>
    </>
  );
}

interface RowActionsProps {
  job: ListedJob;
  actions: ReturnType<typeof useJobActions>;
  mayNot: string | undefined;
}

function RowActions({ job, actions, mayNot }: RowActionsProps) {
  return (
    <Menu
      label={`Actions for ${job.id}`}
      items={[
        {
          label: "Cancel",
          isDanger: true,
          refused: mayNot ?? (!job.actions.includes("cancel") && "It has ended"),
          onSelect: () => actions.ask("cancel", [job.id]),
        },
        {
          label: "Retry",
          refused: mayNot ?? (!job.actions.includes("retry") && "Only a job that failed or timed out can be retried"),
          onSelect: () => void actions.retry([job.id]),
        },
      ]}
    />
  );
}

interface NoJobsProps {
  endpoint: Endpoint;
  isFiltered: boolean;
  find: string;
  /** How many jobs were searched, where there are more. */
  searchedJobs: number | undefined;
}

function NoJobs({ endpoint, isFiltered, find, searchedJobs }: NoJobsProps) {
  if (find !== "" && searchedJobs !== undefined) {
    return (
      <Empty title="Not found among the newest jobs">
        A part of an id is looked for in the {countText(searchedJobs)} jobs that were loaded. Enter a whole id to find
        any job.
      </Empty>
    );
  }
  if (find !== "") {
    return (
      <Empty title="No job has this id">
        It may have expired: results are kept for 30 minutes after <code>/run</code>, and 1 minute after{" "}
        <code>/runsync</code>.
      </Empty>
    );
  }
  if (isFiltered) return <Empty title="No job fits the filters">Choose others to see more.</Empty>;
  return (
    <Empty
      title="No jobs"
      action={
        <ButtonLink kind="primary" to="/serverless/$id/try" params={{ id: endpoint.id }}>
          Try it
        </ButtonLink>
      }
      command={curlOf("runJob", { params: { endpoint_id: endpoint.id }, body: { input: { prompt: "Hello" } } })}
    >
      A job is one request to the endpoint. It is listed here until its result expires.
    </Empty>
  );
}
