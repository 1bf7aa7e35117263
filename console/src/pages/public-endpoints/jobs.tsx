/** The jobs of the signed-in account at a public endpoint. Those of other accounts do not exist for it; whoever shares the endpoint sees all. */
import type { PublicEndpoint } from "@millrace/platform/resources/public-endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { curlOf } from "../../api/curl.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Duration, Id, Status } from "../../design/facts.tsx";
import { Empty, Facts, Loaded, Refused } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import { useView } from "../../shell/view.ts";
import { columns as ofJobs } from "../serverless/job-columns.tsx";
import { errorText } from "../serverless/job-timeline.ts";
import { type Job, useJob, useJobList } from "../serverless/jobs-api.ts";
import { OutputView } from "../serverless/output-view.tsx";
import { PublicEndpointFrame } from "./frame.tsx";
import css from "./public-endpoints.module.css";

/** Callers see no workers. */
const columns = ofJobs.filter(({ id }) => id !== "worker");

export function PublicEndpointJobs() {
  const { id } = useParams({ strict: false }) as { id: string };
  return (
    <PublicEndpointFrame curl={curlOf("listJobs", { params: { endpoint_id: id } })}>
      {(shared) => <Jobs shared={shared} />}
    </PublicEndpointFrame>
  );
}

function Jobs({ shared: { name } }: { shared: PublicEndpoint }) {
  const [open, setOpen] = useView("job");
  const list = useJobList(name, { statuses: [], worker: "" }, true);
  return (
    <>
      {list.error && !list.rows ? (
        <Refused refusal={list.error} retry={() => void list.refresh()} />
      ) : (
        <DataTable
          name="public-endpoint-jobs"
          rows={list.rows}
          columns={columns}
          idOf={({ id }) => id}
          onOpen={({ id }) => setOpen(id)}
          more={list.more}
          empty={
            <Empty
              title="No jobs yet"
              action={
                <ButtonLink kind="primary" to="/public-endpoints/$id/try" params={{ id: name }}>
                  Try it
                </ButtonLink>
              }
            >
              Jobs that your account submits to {name} are listed here, with their results.
            </Empty>
          }
        />
      )}
      <Dialog isOpen={open !== undefined} onClose={() => setOpen(undefined)} title="Job" isDrawer>
        {open !== undefined && <OneJob name={name} jobId={open} />}
      </Dialog>
    </>
  );
}

function OneJob({ name, jobId }: { name: string; jobId: string }) {
  return <Loaded read={useJob(name, jobId)}>{(job) => <Shown job={job} />}</Loaded>;
}

function Shown({ job }: { job: Job }) {
  return (
    <div className={css.job}>
      <Id value={job.id} />
      <Facts
        rows={[
          ["Status", <Status key="status" value={job.status} />],
          job.delayTime !== undefined && ["Waited", <Duration key="waited" ms={job.delayTime} />],
          job.executionTime !== undefined && ["Ran", <Duration key="ran" ms={job.executionTime} />],
        ]}
      />
      {job.waitReason !== undefined && <Reason text={job.waitReason} code={job.waitReasonCode} />}
      {job.error !== undefined && <Reason text={errorText(job.error)} code={job.errorCode} tone="bad" />}
      {job.output !== undefined && (
        <section>
          <h3>Output</h3>
          <OutputView value={job.output} label="Output" name={`output-${job.id}`} />
        </section>
      )}
    </div>
  );
}
