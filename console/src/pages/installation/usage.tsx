/** What is full on the node that answers: disk, memory for bodies, connections; and the longest queues. */
import type { InstallationUsage } from "@millrace/platform/resources/administration/model.ts";
import { Link } from "@tanstack/react-router";
import { useMe } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { sizeText } from "../../design/facts.tsx";
import { Loaded, Panel } from "../../design/layout.tsx";
import { Meter } from "../../design/meter.tsx";
import { Reason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import css from "./installation.module.css";

export function Usage() {
  const read = useRead("getInstallationUsage", {}, { refetchInterval: 5000 });
  return <Loaded read={read}>{(usage) => <Shown usage={usage} />}</Loaded>;
}

function Shown({ usage }: { usage: InstallationUsage }) {
  const { refusal, disk, bodies, connections, queue, node } = usage;
  return (
    <>
      <Reason text={refusal} code={undefined} tone="bad" />
      <Panel title="The server" about={`Node ${node}, which answered.`}>
        <div className={css.meters}>
          {disk && <Meter label="Data disk" used={disk.total - disk.free} most={disk.total} format={sizeText} />}
          <Meter label="Memory for bodies" used={bodies.held} most={bodies.total} format={sizeText} />
          <Meter label="Connections" used={connections.open} most={connections.most} />
          <Meter label="Requests that wait for memory" used={bodies.waiting} most={undefined} />
          <Meter label="Jobs in queue" used={queue.inQueue} most={undefined} />
          <Meter label="Jobs in progress" used={queue.inProgress} most={undefined} />
        </div>
      </Panel>
      {queue.longest.length > 0 && <Longest rows={queue.longest} />}
    </>
  );
}

type Queue = InstallationUsage["queue"]["longest"][number];

function Longest({ rows }: { rows: readonly Queue[] }) {
  const me = useMe();
  const accounts = useRead("listInstallationAccounts", {}).data?.accounts;
  const nameOf = (id: string | null) => accounts?.find((account) => account.id === id)?.name ?? id;
  const columns: Column<Queue>[] = [
    {
      id: "endpoint",
      title: "Endpoint",
      value: ({ endpointId }) => endpointId,
      cell: ({ endpointId, accountId }) =>
        accountId === me.data?.account.id ? (
          <Link to={`/serverless/${endpointId}` as "/"}>{endpointId}</Link>
        ) : (
          <code>{endpointId}</code>
        ),
    },
    { id: "account", title: "Account", value: ({ accountId }) => nameOf(accountId) },
    { id: "queue", title: "In queue", value: ({ inQueue }) => inQueue, isNumber: true },
    { id: "progress", title: "In progress", value: ({ inProgress }) => inProgress, isNumber: true },
  ];
  return (
    <Panel title="Longest queues" isFlush>
      <DataTable name="queues" rows={rows} columns={columns} idOf={({ endpointId }) => endpointId} empty={null} />
    </Panel>
  );
}
