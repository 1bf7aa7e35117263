/** Whether the installation is well: what is full, which nodes are silent, which duties fail. */
import type { InstallationNode } from "@millrace/platform/resources/installation/model.ts";
import { Link } from "@tanstack/react-router";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { ButtonLink } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { durationText, Id, Status, When } from "../../design/facts.tsx";
import { Empty, Loaded, Panel, Skeleton } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import { roomOf } from "../machines/room.ts";
import { RoomMeters } from "../machines/room-meters.tsx";
import { isFailing, troubleOf } from "./duties.tsx";
import { InstallationPage } from "./frame.tsx";
import css from "./installation.module.css";
import { RemoveNode } from "./node-removal.tsx";
import { Usage } from "./usage.tsx";

const LIVE = { refetchInterval: 5000 };

const columns: Column<InstallationNode>[] = [
  { id: "id", title: "Node", value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
  {
    id: "state",
    title: "State",
    value: ({ state }) => state,
    cell: ({ state }) => <Status value={state} tone={state === "UP" ? "good" : "bad"} />,
  },
  {
    id: "seen",
    title: "Last heard of",
    value: ({ lastSeenAt }) => lastSeenAt,
    cell: ({ lastSeenAt }) => <When at={lastSeenAt} />,
  },
  {
    id: "clockAhead",
    title: "Clock",
    value: ({ clockAhead }) => clockAhead,
    cell: ({ clockAhead }) => clockText(clockAhead),
  },
  { id: "version", title: "Version", value: ({ version }) => version },
  { id: "url", title: "Address", value: ({ url }) => url },
  {
    id: "machines",
    title: "Machines",
    value: ({ machines }) => machines.join(" "),
    cell: ({ machines }) => machines.map((id) => <Link key={id} to={`/machines/${id}` as "/"}>{`${id} `}</Link>),
  },
  { id: "stays", title: "Still has", value: ({ stays }) => stays },
];

/** Beside the database's clock. */
function clockText(aheadS: number | null): string {
  if (aheadS === null) return "–";
  return `${durationText(Math.abs(aheadS) * 1000)} ${aheadS < 0 ? "behind" : "ahead"}`;
}

export function InstallationHealth() {
  const reads = [useRead("getInstallationUsage", {}, LIVE), useMachines(), useNodes(), useDuties()];
  return (
    <InstallationPage name="Health" curl={curlOf("getInstallationUsage")}>
      {reads.some(({ isLoading }) => isLoading) ? (
        <Skeleton lines={12} />
      ) : (
        <>
          <Failing />
          <Usage />
          <Room />
          <Nodes />
        </>
      )}
    </InstallationPage>
  );
}

const useDuties = () => useRead("listDuties", {}, LIVE);
const useMachines = () => useRead("listInstallationMachines", {}, LIVE);
const useNodes = () => useRead("listInstallationNodes", {}, LIVE);

function Failing() {
  const read = useDuties();
  const failing = read.data?.duties.filter(isFailing) ?? [];
  if (failing.length === 0) return null;
  return (
    <div className={css.failing}>
      {failing.slice(0, 3).map((duty) => (
        <Reason key={duty.name} tone="bad" code={undefined} text={troubleOf(duty)}>
          <ButtonLink to={"/installation/duties" as "/"} search={{ show: "failing" }} size="small">
            See what fails
          </ButtonLink>
        </Reason>
      ))}
    </div>
  );
}

function Room() {
  const read = useMachines();
  return (
    <Panel
      title="The machines"
      about="Over all machines that are heard of."
      actions={
        <ButtonLink to="/machines" size="small">
          Machines
        </ButtonLink>
      }
    >
      <Loaded read={read}>{({ machines }) => <RoomMeters amounts={roomOf(machines)} />}</Loaded>
    </Panel>
  );
}

function Nodes() {
  const read = useNodes();
  return (
    <Panel title="Nodes" about="Servers on the same database." isFlush>
      <Loaded read={read}>
        {({ nodes }) => (
          <DataTable
            name="nodes"
            rows={nodes}
            columns={columns}
            idOf={({ id }) => id}
            rowActions={(node) => (node.state === "SILENT" ? <RemoveNode node={node} /> : null)}
            empty={<Empty title="No nodes">A server that starts on the same database appears here.</Empty>}
          />
        )}
      </Loaded>
    </Panel>
  );
}
