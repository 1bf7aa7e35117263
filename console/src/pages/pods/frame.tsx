/** What all tabs of a Pod share: its name, status with its reason, actions and tabs. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { ButtonLink } from "../../design/button.tsx";
import { Id, Money, Status } from "../../design/facts.tsx";
import { Loaded, Page } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { TabLinks } from "../../design/tabs.tsx";
import { PodActions } from "./actions.tsx";
import { Uptime } from "./columns.tsx";
import css from "./pods.module.css";
import { computeText, isQuiet, reasonTone } from "./state.ts";

interface PodFrameProps {
  /** The call that made the tab, as curl; of the Pod itself by default. */
  curl?: string;
  children: (pod: Pod) => ReactNode;
}

export function PodFrame({ curl, children }: PodFrameProps) {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getPod", { params: { id } });
  return (
    <Loaded read={read}>
      {(pod) => (
        <Page
          title={pod.name}
          about={<About pod={pod} />}
          curl={curl ?? curlOf("getPod", { params: { id } })}
          actions={<PodActions pod={pod} />}
          tabs={<Tabs id={id} />}
        >
          <Why pod={pod} />
          {children(pod)}
        </Page>
      )}
    </Loaded>
  );
}

function About({ pod }: { pod: Pod }) {
  return (
    <span className={css.about}>
      <Status value={pod.status} />
      <span>{computeText(pod)}</span>
      {pod.dataCenterId && <span>{pod.dataCenterId}</span>}
      <Money usd={pod.cost} per="h" />
      <Id value={pod.id} />
      {pod.locked && <span>Locked</span>}
      {pod.cluster && (
        <Link to="/clusters/$id" params={{ id: pod.cluster.id }}>
          Rank {pod.cluster.rank} of a cluster
        </Link>
      )}
      {/* Last, since it grows each second and would move what follows. */}
      {pod.status === "RUNNING" && (
        <span>
          up <Uptime pod={pod} />
        </span>
      )}
    </span>
  );
}

/** Why it does not run, and the way to what helps. */
function Why({ pod }: { pod: Pod }) {
  const { status, statusReason, statusReasonCode } = pod;
  if (isQuiet(status) && !statusReason) return null;
  const params = { id: pod.id };
  return (
    <Reason text={statusReason} code={statusReasonCode} tone={reasonTone(status)}>
      {status !== "RUNNING" && (
        <>
          <ButtonLink size="small" to="/pods/$id/logs" params={params}>
            Read its log
          </ButtonLink>
          {status === "ERROR" && (
            <ButtonLink size="small" to="/pods/$id/settings" params={params}>
              Change its settings
            </ButtonLink>
          )}
        </>
      )}
    </Reason>
  );
}

function Tabs({ id }: { id: string }) {
  const params = { id };
  return (
    <TabLinks
      label="Of this Pod"
      tabs={[
        { label: "Overview", to: "/pods/$id", params },
        { label: "Logs", to: "/pods/$id/logs", params },
        { label: "Terminal", to: "/pods/$id/terminal", params },
        { label: "Ports", to: "/pods/$id/ports", params },
        { label: "Settings", to: "/pods/$id/settings", params },
      ]}
    />
  );
}
