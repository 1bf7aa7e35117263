/** The frame of an endpoint's pages: its name, state, counts and actions, and the tabs. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { Pause, Scaling, Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button } from "../../design/button.tsx";
import { Id, Money, Status } from "../../design/facts.tsx";
import { Loaded, Page } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { TabLinks } from "../../design/tabs.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { TYPE_WORDS } from "./columns.tsx";
import { PauseDialog, PurgeDialog, ScaleDialog } from "./frame-dialogs.tsx";
import { useEndpointState } from "./reads.ts";
import css from "./serverless.module.css";
import { MEANING_OF } from "./state.ts";

interface EndpointFrameProps {
  /** The call that made the tab, as curl; of the endpoint itself by default. */
  curl?: string;
  /** More buttons at the right of the head. */
  actions?: ReactNode;
  children: (endpoint: Endpoint) => ReactNode;
}

export function EndpointFrame({ curl, actions, children }: EndpointFrameProps) {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getEndpoint", { params: { id } });
  return (
    <Loaded read={read}>
      {(endpoint) => (
        <Page
          title={endpoint.name}
          about={<About endpoint={endpoint} />}
          curl={curl ?? curlOf("getEndpoint", { params: { id } })}
          actions={
            <>
              {actions}
              <Actions endpoint={endpoint} />
            </>
          }
          tabs={<Tabs endpoint={endpoint} />}
        >
          {children(endpoint)}
        </Page>
      )}
    </Loaded>
  );
}

function About({ endpoint }: { endpoint: Endpoint }) {
  const { status, tone, isKnown, health, counts, cost, compute } = useEndpointState(endpoint);
  const { max } = endpoint.workers;
  // All of the line comes at once, and the id makes it as high before, so that nothing moves.
  if (!isKnown)
    return (
      <span className={css.about}>
        <span className="quiet">…</span>
        <Id value={endpoint.id} />
      </span>
    );
  return (
    <span className={css.about}>
      <span title={MEANING_OF[status]}>
        <Status value={status} tone={tone} />
      </span>
      <span>{TYPE_WORDS[endpoint.type ?? "QUEUE"]}</span>
      <span>{compute}</span>
      {health && (
        <span className="numbers">
          {health.jobs.inQueue} queued, {health.jobs.inProgress} in progress
        </span>
      )}
      <span className="numbers">
        {counts.running + counts.idle} of {max} workers
      </span>
      {cost !== undefined && cost > 0 && <Money usd={cost} per="h" />}
      <Id value={endpoint.id} />
    </span>
  );
}

type Open = "scale" | "pause" | "purge" | "delete";

function Actions({ endpoint }: { endpoint: Endpoint }) {
  const [open, setOpen] = useState<Open>();
  const mayNot = useMayNot("serverless:write");
  const mayNotInvoke = useMayNot("serverless:invoke");
  const close = () => setOpen(undefined);
  const isPaused = endpoint.workers.max === 0;
  return (
    <>
      <Button icon={<Scaling />} refused={mayNot} onClick={() => setOpen("scale")}>
        {isPaused ? "Resume" : "Scale"}
      </Button>
      <Menu
        items={[
          {
            label: "Pause",
            icon: <Pause />,
            refused: mayNot ?? (isPaused && "It is paused"),
            onSelect: () => setOpen("pause"),
          },
          endpoint.type === "QUEUE" && {
            label: "Purge the queue",
            icon: <Trash2 />,
            refused: mayNotInvoke,
            onSelect: () => setOpen("purge"),
          },
          { label: "Delete", icon: <Trash2 />, isDanger: true, refused: mayNot, onSelect: () => setOpen("delete") },
        ]}
      />
      <ScaleDialog key={`${open}`} endpoint={endpoint} isOpen={open === "scale"} onClose={close} />
      <PauseDialog endpoint={endpoint} isOpen={open === "pause"} onClose={close} />
      <PurgeDialog endpoint={endpoint} isOpen={open === "purge"} onClose={close} />
      <DeleteDialog resource={resources.endpoints} record={endpoint} isOpen={open === "delete"} onClose={close}>
        <LostWithEndpoint endpoint={endpoint} />
      </DeleteDialog>
    </>
  );
}

export function LostWithEndpoint({ endpoint }: { endpoint: Endpoint }) {
  const { health, counts } = useEndpointState(endpoint);
  const jobs = health ? health.jobs.inQueue + health.jobs.inProgress : 0;
  return (
    <>
      <strong>{endpoint.name}</strong> stops answering at once.{" "}
      {jobs > 0 && `Its ${jobs} unfinished ${jobs === 1 ? "job is" : "jobs are"} cancelled. `}
      {counts.running + counts.idle > 0 && "Its workers end. "}
      Its settings, releases, logs and the results of all its jobs are gone for good.
    </>
  );
}

/** A load balancing endpoint has no queue, and so no jobs and no batches. */
function Tabs({ endpoint: { id, type } }: { endpoint: Endpoint }) {
  const params = { id };
  const isQueue = type === "QUEUE";
  return (
    <TabLinks
      label="Of this endpoint"
      tabs={[
        { label: "Overview", to: "/serverless/$id", params },
        ...(isQueue ? [{ label: "Jobs", to: "/serverless/$id/jobs", params } as const] : []),
        { label: "Workers", to: "/serverless/$id/workers", params },
        { label: "Logs", to: "/serverless/$id/logs", params },
        { label: "Releases", to: "/serverless/$id/releases", params },
        ...(isQueue ? [{ label: "Batches", to: "/serverless/$id/batches", params } as const] : []),
        { label: "Settings", to: "/serverless/$id/settings", params },
        { label: "Try it", to: "/serverless/$id/try", params },
      ]}
    />
  );
}
