/** The frame of an endpoint's pages: its name, state, counts and actions, and the tabs. */
import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { Pause, Scaling, Trash2 } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { countText, Id, Money, Status } from "../../design/facts.tsx";
import { Loaded, Page } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { TabLinks } from "../../design/tabs.tsx";
import { TYPE_WORDS } from "./columns.tsx";
import type { FrameDialog } from "./frame-dialogs.tsx";
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
      <Id value={endpoint.id} />
      {/* Last, since numbers grow by a digit and would move what follows. */}
      {health && (
        <span className="numbers">
          {countText(health.jobs.inQueue)} queued, {countText(health.jobs.inProgress)} in progress
        </span>
      )}
      <span className="numbers">
        {counts.running + counts.idle} of {max} workers
      </span>
      {cost !== undefined && cost > 0 && <Money usd={cost} per="h" />}
    </span>
  );
}

/** They bring forms along, which the first view of an endpoint needs not. */
const FrameDialogs = lazy(() => import("./frame-dialogs.tsx"));

function Actions({ endpoint }: { endpoint: Endpoint }) {
  const [open, setOpen] = useState<FrameDialog>();
  const [hasOpened, setOpened] = useState(false);
  if (open && !hasOpened) setOpened(true);
  const mayNot = useMayNot("serverless:write");
  const mayNotInvoke = useMayNot("serverless:invoke");
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
      {hasOpened && (
        <Suspense>
          <FrameDialogs endpoint={endpoint} open={open} onClose={() => setOpen(undefined)} />
        </Suspense>
      )}
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
