/** Calls an endpoint from the page with a real body, shows what comes back as it comes, and gives the same call as code. */
import { Play, Square } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { CodeTabs } from "../../design/code.tsx";
import { Choice, TextField } from "../../design/field.tsx";
import { Panel, Skeleton } from "../../design/layout.tsx";
import { useView } from "../../shell/view.ts";
import { isFinal, type ListedJob, useDetails, useJob } from "./jobs-api.ts";
import { samplesOf } from "./samples.ts";
import css from "./try.module.css";
import { faultOf, firstBody, MODES, modesOf, type RunMode } from "./try-modes.ts";
import { type Called, ChatResult, HttpResult, JobResult } from "./try-results.tsx";
import { useCall } from "./use-call.ts";

const JsonEditor = lazy(() => import("../../design/json-editor.tsx"));
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"].map((value) => ({ value, label: value }));

/** The job whose body is the first one: one that the address names, or the newest. */
function useFirstJob({ id, type }: Called) {
  const [named] = useView("job");
  const isQueue = type !== "LOAD_BALANCER";
  const newest = useRead(
    "listJobs",
    { params: { endpoint_id: id }, query: { limit: 1 } },
    { enabled: isQueue && named === undefined },
  );
  const listed = (newest.data as { requests: ListedJob[] } | undefined)?.requests[0]?.id;
  const jobId = named ?? listed;
  const details = useDetails(id, isQueue ? jobId : undefined);
  const isKnown = !isQueue || details.data || details.error || (newest.data !== undefined && !jobId) || newest.error;
  return { job: details.data, isKnown: Boolean(isKnown) };
}

interface TryProps {
  endpoint: Called;
  /** What a call costs, where somebody else is paid for it. */
  price?: string;
}

export function Try({ endpoint, price }: TryProps) {
  const first = useFirstJob(endpoint);
  // The first answer decides: a job that is submitted here must not change the body in the editor.
  const [begun, setBegun] = useState<{ job: typeof first.job }>();
  useEffect(() => {
    if (first.isKnown) setBegun((before) => before ?? { job: first.job });
  }, [first.isKnown, first.job]);
  return begun ? <Box endpoint={endpoint} last={begun.job} price={price} /> : <Skeleton lines={8} />;
}

interface BoxProps {
  endpoint: Called;
  last: { id: string; input?: unknown } | undefined;
  price: string | undefined;
}

function Box({ endpoint, last, price }: BoxProps) {
  const modes = modesOf(endpoint.type);
  const [wanted, setMode] = useView<RunMode>("mode", modes[0]!);
  const mode = modes.includes(wanted) ? wanted : modes[0]!;
  const [bodies, setBodies] = useState<Partial<Record<RunMode, string>>>({});
  const [method, setMethod] = useState("GET");
  const [path, setPath] = useState("/");
  const shape: RunMode = mode === "wait" ? "run" : mode;
  const body = bodies[shape] ?? firstBody(mode, last);
  const call = useCall(endpoint.id);
  const mayNot = useMayNot("serverless:invoke");
  const fault = faultOf(mode, body);
  const http = { method, path: path.startsWith("/") ? path : `/${path}` };
  const run = () => {
    if (!fault && !mayNot && !call.isBusy) void call.start({ mode, body, http });
  };
  return (
    <div className={css.columns}>
      <div className={css.asked}>
        <Panel
          title="Request"
          about={MODES[mode].about}
          actions={
            modes.length > 1 && (
              <fieldset className={css.modes}>
                <legend className="hidden">How to call it</legend>
                {modes.map((one) => (
                  <button
                    key={one}
                    type="button"
                    className={css.mode}
                    aria-pressed={one === mode}
                    onClick={() => setMode(one)}
                  >
                    {MODES[one].label}
                  </button>
                ))}
              </fieldset>
            )
          }
        >
          <div className={css.request}>
            {mode === "http" && (
              <div className={css.http}>
                <div className={css.method}>
                  <Choice label="Method" value={method} onChange={setMethod} options={METHODS} />
                </div>
                <TextField label="Path at the worker" value={path} onChange={setPath} isCode />
              </div>
            )}
            {(mode !== "http" || method !== "GET") && (
              <Suspense fallback={<Skeleton lines={6} />}>
                <JsonEditor
                  key={shape}
                  label="Request body"
                  value={body}
                  onChange={(text) => setBodies((before) => ({ ...before, [shape]: text }))}
                  onSubmit={run}
                />
              </Suspense>
            )}
            <div className={css.foot}>
              <p className="quiet">
                {fault ?? bodySource(mode, bodies[shape], last)}
                {price !== undefined && <span className={css.price}>Price: {price.toLowerCase()}.</span>}
              </p>
              {call.isBusy ? (
                <Button icon={<Square fill="currentColor" />} onClick={call.stop}>
                  Stop waiting
                </Button>
              ) : (
                <Button kind="primary" icon={<Play />} refused={mayNot ?? fault} onClick={run}>
                  {mode === "http" ? "Send" : MODES[mode].label}
                </Button>
              )}
            </div>
          </div>
        </Panel>
      </div>
      <div className={css.code}>
        <Panel title="As code" about="With an API key in the variable MILLRACE_API_KEY.">
          <CodeTabs samples={samplesOf({ mode, origin: location.origin, endpointId: endpoint.id, body, http })} />
        </Panel>
      </div>
      <div className={css.right}>
        <Result endpoint={endpoint} call={call} />
      </div>
    </div>
  );
}

function bodySource(mode: RunMode, edited: string | undefined, last: { id: string } | undefined): string {
  if (edited !== undefined) return "Ctrl-Enter sends it.";
  if (mode === "http") return "";
  return last
    ? `The body is that of job ${last.id.slice(0, 8)}. Ctrl-Enter sends it.`
    : "An example. Ctrl-Enter sends it.";
}

function Result({ endpoint, call }: { endpoint: Called; call: ReturnType<typeof useCall> }) {
  const { data: job } = useJob(endpoint.id, call.jobId);
  if (call.mode === undefined) {
    return (
      <Panel title="Answer">
        <p className="quiet">Nothing was sent yet. The answer appears here as it comes.</p>
      </Panel>
    );
  }
  if (call.mode === "http") return <HttpResult call={call} />;
  if (call.mode === "chat") return <ChatResult endpoint={endpoint} call={call} job={job} />;
  return <JobResult endpoint={endpoint} call={call} job={job} isOver={job !== undefined && isFinal(job.status)} />;
}
