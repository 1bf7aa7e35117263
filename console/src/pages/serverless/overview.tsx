/** Is the endpoint healthy, and if not, why: its numbers, the reason of what waits or fails, charts, and how to call it. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { resources } from "../../api/resources.ts";
import { ButtonLink } from "../../design/button.tsx";
import { CodeTabs } from "../../design/code.tsx";
import { Money, When } from "../../design/facts.tsx";
import { useLasting } from "../../design/lasting.ts";
import { Facts, Panel, Skeleton } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import { Charts } from "./charts.tsx";
import { EndpointFrame } from "./frame.tsx";
import { useEndpointState } from "./reads.ts";
import { type Call, samplesOf } from "./samples.ts";
import css from "./serverless.module.css";
import { MEANING_OF } from "./state.ts";

/** Brings forms and logs along, which an endpoint that works does not show. */
const CrashPanel = lazy(() => import("./crash.tsx"));

export function EndpointOverview() {
  return (
    <EndpointFrame>
      {(endpoint) => (
        <Suspense fallback={<Skeleton lines={8} />}>
          <Overview endpoint={endpoint} />
        </Suspense>
      )}
    </EndpointFrame>
  );
}

function Overview({ endpoint }: { endpoint: Endpoint }) {
  const state = useEndpointState(endpoint);
  // An endpoint that fails is started again and again. Meanwhile it does not fail, but what somebody types to repair it must stay.
  const [isRepairing, setRepairing] = useState(false);
  const { health, counts, cost, status, workers } = state;
  const isQueue = endpoint.type === "QUEUE";
  const why = state.code ?? state.reason;
  const lasting = useLasting(why === undefined ? [] : [why], !state.isSettled);
  const failed = workers?.find((worker) => worker.status === "UNHEALTHY");
  // What is above the numbers depends on all of it, and would move them.
  if (!state.isSettled) return <Skeleton lines={8} />;
  return (
    <>
      {status === "FAILING" || isRepairing ? (
        <CrashPanel
          {...{ endpoint, failed, reason: state.reason, code: state.code, isRepairing }}
          onRepairing={setRepairing}
        />
      ) : (
        <Reason text={why !== undefined && lasting.has(why) ? state.reason : undefined} code={state.code}>
          <Remedies endpoint={endpoint} code={state.code} />
        </Reason>
      )}
      <Numbers
        rows={[
          isQueue && ["In the queue", health?.jobs.inQueue ?? "–"],
          isQueue && ["In progress", health?.jobs.inProgress ?? "–"],
          [
            endpoint.type === "QUEUE" ? "Workers with jobs" : "Workers with requests",
            counts.running,
            `of ${endpoint.workers.max}`,
          ],
          ["Idle workers", counts.idle, counts.initializing > 0 ? `${counts.initializing} starting` : undefined],
          isQueue && ["Completed", health?.jobs.completed ?? "–"],
          isQueue && [
            "Failed",
            health?.jobs.failed ?? "–",
            health && health.jobs.retried > 0 ? `${health.jobs.retried} retried` : undefined,
          ],
          ["Cost now", <Money key="cost" usd={cost} />, "an hour"],
        ]}
      />
      {status === "ASLEEP" && <p className={css.note}>{MEANING_OF.ASLEEP}</p>}
      <Charts endpoint={endpoint} />
      <div className={css.columns}>
        <Panel
          title="Call it"
          actions={
            <ButtonLink size="small" to="/serverless/$id/try" params={{ id: endpoint.id }}>
              Try it here
            </ButtonLink>
          }
        >
          <CodeTabs samples={samplesOf(callOf(endpoint))} />
        </Panel>
        <Panel title="What runs" actions={<AuditLink id={endpoint.id} />}>
          <div className={css.stack}>
            <Facts
              rows={[
                ["Image", <code key="image">{endpoint.image}</code>],
                endpoint.cmd.length > 0 && ["Command", <code key="cmd">{endpoint.cmd.join(" ")}</code>],
                ["Compute", state.compute],
                ["Workers", `${endpoint.workers.min} to ${endpoint.workers.max}`],
                ["Created", <When key="created" at={endpoint.createdAt} />],
              ]}
            />
            <AllFields model={resources.endpoints.model} record={endpoint} />
          </div>
        </Panel>
      </div>
    </>
  );
}

/** A first call: one job that is waited for, or one request. */
const callOf = ({ id, type }: Endpoint): Call => ({
  origin: location.origin,
  endpointId: id,
  body: type === "QUEUE" ? '{"input":{"prompt":"Hello"}}' : "",
  mode: type === "QUEUE" ? "wait" : "http",
  ...(type !== "QUEUE" && { http: { method: "GET", path: "/" } }),
});

type NumberRow = readonly [name: string, value: ReactNode, about?: ReactNode];

function Numbers({ rows }: { rows: readonly (NumberRow | false)[] }) {
  return (
    <dl className={css.numbers}>
      {rows
        .filter((row) => row !== false)
        .map(([name, value, about]) => (
          <div key={name} className={css.number}>
            <dt>{name}</dt>
            <dd>
              {value} {about && <small>{about}</small>}
            </dd>
          </div>
        ))}
    </dl>
  );
}

/** Where the remedy of a reason is done. */
const MORE_WORKERS = ["workers-busy", "older-release-busy", "too-many-workers", "no-worker", "paused"];
const OF_MONEY = ["spend-limit", "operator-spend-limit", "key-spend-limit", "no-credit"];
const OTHER_COMPUTE = ["no-capacity", "gpu-in-use"];

function Remedies({ endpoint: { id }, code = "" }: { endpoint: Endpoint; code: string | undefined }) {
  const params = { id };
  return (
    <>
      {MORE_WORKERS.includes(code) && (
        <ButtonLink size="small" to="/serverless/$id/settings" params={params}>
          Change the numbers of workers
        </ButtonLink>
      )}
      {OTHER_COMPUTE.includes(code) && (
        <ButtonLink size="small" to="/serverless/$id/settings" params={params}>
          Allow other compute
        </ButtonLink>
      )}
      {OF_MONEY.includes(code) && (
        <ButtonLink size="small" to="/billing">
          Open billing
        </ButtonLink>
      )}
      <ButtonLink size="small" kind="quiet" to="/serverless/$id/workers" params={params}>
        Workers
      </ButtonLink>
      <ButtonLink size="small" kind="quiet" to="/serverless/$id/logs" params={params}>
        Logs
      </ButtonLink>
    </>
  );
}
