/** One cluster: its members, how to reach the first of them, and its end. */

import type { Cluster } from "@millrace/platform/resources/clusters/model.ts";
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { models } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import type { Column } from "../../design/column.ts";
import { Id, Money, moneyText, Status, When, wordsOf } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel } from "../../design/layout.tsx";
import { Reason, StateWithReason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { Uptime } from "../pods/columns.tsx";
import css from "../pods/pods.module.css";
import { reasonTone } from "../pods/state.ts";
import { clusterText, membersText, wholeStatus } from "./state.ts";

const HOURS = 24;

export function ClusterPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getCluster", { params: { id } });
  return <Loaded read={read}>{(cluster) => <Shown cluster={cluster} />}</Loaded>;
}

function Shown({ cluster }: { cluster: Cluster }) {
  const { id } = cluster;
  const [isDeleting, setDeleting] = useState(false);
  const mayNot = useMayNot("clusters:write");
  const read = useRead("listClusterPods", { params: { id } });
  const members = read.data?.pods;
  const cost = members?.reduce((sum, member) => sum + member.cost, 0);
  const refused = mayNot ?? (!cluster.actions.includes("delete") && "It cannot be deleted now");
  return (
    <Page
      title={cluster.name}
      about={
        <span className={css.about}>
          <Status value={wholeStatus(cluster)} />
          <span>{membersText(cluster)}</span>
          <span>{clusterText(cluster)}</span>
          {cost !== undefined && <Money usd={cost} per="h" />}
          <Id value={id} />
        </span>
      }
      curl={curlOf("getCluster", { params: { id } })}
      actions={
        <>
          <AuditLink id={id} />
          <Button kind="danger" refused={refused} onClick={() => setDeleting(true)}>
            Delete
          </Button>
        </>
      }
    >
      <WorstReason members={members ?? []} />
      <section aria-label="Members">
        <h2>Members</h2>
        <Loaded read={read}>
          {({ pods }) => (
            <DataTable
              name="cluster-members"
              rows={pods}
              columns={MEMBERS}
              idOf={(member) => member.id}
              linkTo={(member) => `/pods/${member.id}`}
              empty={<p className="quiet">It has no members any more.</p>}
            />
          )}
        </Loaded>
        <p className={css.note}>Members that fail are started again, and keep their rank and address.</p>
      </section>
      <div className={css.halves}>
        <Reach cluster={cluster} primary={members?.find((member) => member.cluster?.rank === 0)} />
        <Panel title="What it is">
          <Facts
            rows={[
              ["Kind", wordsOf(cluster.type)],
              ["Compute", clusterText(cluster)],
              cost !== undefined && ["Cost", `${moneyText(cost)} an hour, ${moneyText(cost * HOURS)} a day`],
              cluster.dataCenterId !== undefined && ["Data center", cluster.dataCenterId],
              cluster.template !== undefined && [
                "Template",
                <Link key="template" to="/templates/$id" params={{ id: cluster.template }}>
                  {cluster.template}
                </Link>,
              ],
              ["Created", <When key="created" at={cluster.createdAt} />],
            ]}
          />
          <AllFields model={models.clusters} record={cluster} />
        </Panel>
      </div>
      {!mayNot && <EditForm resource={resources.clusters} record={cluster} first={["name"]} />}
      <DeleteDialog
        resource={resources.clusters}
        record={cluster}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
      >
        All {cluster.pods.total} members of <strong>{cluster.name}</strong> end at once. What they wrote to their
        container disks and persistent mounts is lost. A network volume stays.
      </DeleteDialog>
    </Page>
  );
}

/** Of the members that do not run, the reason of the worst one stands for all. */
function WorstReason({ members }: { members: readonly Pod[] }) {
  const troubled = members.filter(({ status }) => status !== "RUNNING");
  const worst = troubled.find(({ status }) => status === "ERROR") ?? troubled[0];
  if (!worst?.statusReason) return null;
  const text = `${worst.name}: ${worst.statusReason}`;
  return <Reason text={text} code={worst.statusReasonCode} tone={reasonTone(worst.status)} />;
}

function Reach({ cluster, primary }: { cluster: Cluster; primary: Pod | undefined }) {
  const command = primary?.ssh.proxy?.command;
  return (
    <Panel title="Connect" about="Rank 0 is the primary. The others are reached from it by their addresses.">
      <div className={css.stack}>
        {command && <Code text={command} label="Copy the SSH command" />}
        <Facts
          rows={[
            [
              "Primary",
              cluster.primary ? (
                <Link key="primary" to="/pods/$id" params={{ id: cluster.primary.podId }}>
                  {cluster.primary.podId}
                </Link>
              ) : (
                "–"
              ),
            ],
            cluster.primary?.sshEndpoint !== undefined && ["SSH", <Id key="ssh" value={cluster.primary.sshEndpoint} />],
            ["Network", cluster.network ? <Id key="cidr" value={cluster.network.cidr} /> : "Known once members run"],
          ]}
        />
      </div>
    </Panel>
  );
}

const MEMBERS: Column<Pod>[] = [
  { id: "rank", title: "Rank", isNumber: true, value: ({ cluster }) => cluster?.rank },
  { id: "name", title: "Name", value: ({ name }) => name },
  {
    id: "status",
    title: "Status",
    value: ({ status }) => status,
    cell: ({ status, statusReason, statusReasonCode }) => (
      <StateWithReason text={statusReason} code={statusReasonCode}>
        <Status value={status} />
      </StateWithReason>
    ),
    isWide: true,
  },
  { id: "role", title: "Role", value: ({ cluster }) => cluster?.role && wordsOf(cluster.role) },
  {
    id: "ip",
    title: "Address",
    value: ({ cluster }) => cluster?.ip,
    cell: ({ cluster }) => (cluster?.ip ? <Id value={cluster.ip} /> : <span className="quiet">–</span>),
  },
  {
    id: "cost",
    title: "Cost",
    isNumber: true,
    value: ({ cost }) => cost,
    cell: ({ cost }) => <Money usd={cost} per="h" />,
  },
  {
    id: "uptime",
    title: "Uptime",
    isNumber: true,
    value: ({ startedAt }) => startedAt,
    cell: (member) => <Uptime pod={member} />,
  },
];
