/** A Pod at a glance: how to reach it, what it uses, what it is made of. */

import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { Link } from "@tanstack/react-router";
import { models } from "../../api/models.data.ts";
import { Id, Money, moneyText, When } from "../../design/facts.tsx";
import { Facts, Panel } from "../../design/layout.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import Charts from "./charts.tsx";
import { Connect } from "./connect.tsx";
import { PodFrame } from "./frame.tsx";
import css from "./pods.module.css";
import { computeText } from "./state.ts";

const HOURS = 24;

export function PodOverview() {
  return (
    <PodFrame>
      {(pod) => (
        <>
          <div className={css.halves}>
            <div className={css.stack}>
              <Connect pod={pod} />
              <Charts id={pod.id} hasGpu={pod.gpu !== undefined} isVirtual={pod.gpu?.virtual === true} />
            </div>
            <Made pod={pod} />
          </div>
        </>
      )}
    </PodFrame>
  );
}

function Made({ pod }: { pod: Pod }) {
  const { gpu, cpu, mounts, env } = pod;
  const command = [...pod.entrypoint, ...pod.cmd].join(" ");
  const names = Object.keys(env);
  return (
    <Panel title="What it is" actions={<AuditLink id={pod.id} />}>
      <Facts
        rows={[
          ["Image", <code key="image">{pod.image}</code>],
          command !== "" && ["Command", <code key="command">{command}</code>],
          ["Compute", computeText(pod)],
          gpu && ["With", `${gpu.vcpuCount} vCPU, ${gpu.memory} GB of memory`],
          cpu && ["With", `${cpu.memory} GB of memory`],
          gpu?.virtual && ["GPUs", "Virtual: programs run, and find no device"],
          ["Cost", <Cost key="cost" usd={pod.cost} />],
          ["Container disk", `${pod.disk} GB, lost when it stops`],
          mounts.persistent && ["Persistent", `${mounts.persistent.size} GB at ${mounts.persistent.path}`],
          ...(mounts.network ?? []).map(
            ({ volumeId, path }) =>
              [
                "Network volume",
                <Link key={volumeId} to="/volumes/$id" params={{ id: volumeId }}>
                  {volumeId} at {path}
                </Link>,
              ] as const,
          ),
          names.length > 0 && ["Environment", <code key="env">{names.join(", ")}</code>],
          pod.template !== null && [
            "Template",
            <Link key="template" to="/templates/$id" params={{ id: pod.template }}>
              {pod.template}
            </Link>,
          ],
          pod.idleTimeout !== null && ["Stops", `after ${pod.idleTimeout} s without use`],
          pod.globalNetworking.internalDns !== undefined && [
            "Inside",
            <Id key="dns" value={pod.globalNetworking.internalDns} />,
          ],
          ["Status since", <When key="since" at={pod.lastStatusChange} />],
          ["Started", <When key="started" at={pod.startedAt} />],
          ["Created", <When key="created" at={pod.createdAt} />],
        ]}
      />
      <AllFields model={models.pods} record={pod} />
    </Panel>
  );
}

function Cost({ usd }: { usd: number }) {
  return (
    <>
      <Money usd={usd} per="h" />
      <span className="quiet numbers">, {moneyText(usd * HOURS)} / day</span>
    </>
  );
}
