/** One machine: what it has, what runs there, and how it is emptied before maintenance. */
import type { InstallationMachine, MachineInstance } from "@millrace/platform/resources/installation/model.ts";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot, useMe } from "../../api/me.ts";
import { useRead, useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { Confirm } from "../../design/dialog.tsx";
import { Id, When } from "../../design/facts.tsx";
import { Empty, Facts, Loaded, Page, Panel, Refused } from "../../design/layout.tsx";
import { Reason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import { say, sayRefused } from "../../design/toast.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { instanceColumns, MachineStatus } from "./columns.tsx";
import css from "./machines.module.css";
import { amountsOf } from "./room.ts";
import { RoomMeters } from "./room-meters.tsx";

/** Machines send no events, so an open page asks again. */
const LIVE = { refetchInterval: 5000 };

export function MachinePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("listInstallationMachines", {}, LIVE);
  return (
    <Loaded read={read}>
      {({ machines }) => {
        const machine = machines.find((one) => one.id === id);
        return machine ? <Shown machine={machine} /> : <Gone id={id} />;
      }}
    </Loaded>
  );
}

function Gone({ id }: { id: string }) {
  return (
    <Page title="No such machine">
      <Empty title={id}>No machine of this installation has this id.</Empty>
    </Page>
  );
}

const isDrained = ({ drainingSince }: InstallationMachine) => drainingSince !== null;

function Shown({ machine }: { machine: InstallationMachine }) {
  const [isAsking, setAsking] = useState(false);
  const mayNot = useMayNot("account:write");
  const undrain = useWrite("machineAction", {
    changes: ["listInstallationMachines", "listMachineInstances"],
    onSuccess: () => say("The machine takes work again"),
  });
  return (
    <Page
      title={machine.id}
      about={<MachineStatus state={machine.state} />}
      curl={curlOf("listMachineInstances", { params: { id: machine.id } })}
      actions={
        isDrained(machine) ? (
          <Button
            kind="primary"
            refused={mayNot}
            isBusy={undrain.isPending}
            onClick={() =>
              undrain.mutate({ params: { id: machine.id }, body: { action: "undrain" } }, { onError: sayRefused })
            }
          >
            Take work again
          </Button>
        ) : (
          <Button refused={mayNot} onClick={() => setAsking(true)}>
            Drain
          </Button>
        )
      }
    >
      <Standing machine={machine} />
      <Away machine={machine} />
      <Panel title="What is used">
        <RoomMeters amounts={amountsOf(machine)} />
      </Panel>
      <Panel>
        <Facts
          rows={[
            ["Node", machine.node ? <Id key="node" value={machine.node} /> : "none"],
            ["Data center", machine.dataCenterId],
            ["Runs", machine.runs.join(", ") || "any image"],
            ["Pods", machine.pods],
            ["Workers", machine.workers],
          ]}
        />
      </Panel>
      <Instances machine={machine} />
      <Drain machine={machine} isOpen={isAsking} onClose={() => setAsking(false)} />
    </Page>
  );
}

/** Why it does not take work, in words, and what follows. */
function Standing({ machine }: { machine: InstallationMachine }) {
  const { state, silentSince, drainingSince, pods, workers } = machine;
  if (state === "SILENT") {
    return (
      <Reason
        tone="bad"
        code={undefined}
        text="The node of this machine is silent. Nothing new is placed here until it speaks again."
      >
        <span className="quiet">
          Its last word came <When at={silentSince} />. What is shown is what it last said.
        </span>
      </Reason>
    );
  }
  if (state === "DRAINED") {
    return (
      <Reason code={undefined} text="The machine is empty, and nothing new is placed here. You can switch it off.">
        <span className="quiet">
          Draining began <When at={drainingSince} />.
        </span>
      </Reason>
    );
  }
  if (state === "DRAINING") {
    return (
      <Reason
        code={undefined}
        text={`The machine is being emptied. ${pods} Pods and ${workers} workers are still here.`}
      >
        <span className="quiet">
          Workers end after their jobs. Pods that stay say why below. It began <When at={drainingSince} />.
        </span>
      </Reason>
    );
  }
  return null;
}

/** What it cannot run while everything else goes on, such as containers without their engine. */
function Away({ machine: { away } }: { machine: InstallationMachine }) {
  return away.map(({ images, reason }) => (
    <Reason
      key={images}
      code={undefined}
      text={`No ${images} images run here now. They are placed on other machines, if there are any.`}
    >
      <span className="quiet">{reason}</span>
    </Reason>
  ));
}

function Instances({ machine }: { machine: InstallationMachine }) {
  const me = useMe();
  const { rows, error, refetch, more } = useList<MachineInstance>(
    { list: "listMachineInstances", key: "instances" },
    {},
    { id: machine.id },
  );
  const columns = instanceColumns(me.data?.account.id).filter(({ id }) => id !== "stays" || isDrained(machine));
  return (
    <Panel title="What runs here" isFlush>
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="machine-instances"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          empty={<Empty title="Nothing runs here">Pods and workers are placed where there is room for them.</Empty>}
        />
      )}
    </Panel>
  );
}

function Drain({ machine, isOpen, onClose }: { machine: InstallationMachine; isOpen: boolean; onClose: () => void }) {
  const drain = useWrite("machineAction", {
    changes: ["listInstallationMachines", "listMachineInstances"],
    onSuccess: () => {
      onClose();
      say("The machine is being drained");
    },
  });
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title={`Drain ${machine.id}?`}
      verb="Drain"
      isBusy={drain.isPending}
      refusal={drain.error}
      onConfirm={() => drain.mutate({ params: { id: machine.id }, body: { action: "drain" } })}
    >
      <div className={css.stack}>
        <p>
          Nothing new is placed here. {machine.workers} workers end after the jobs they have, and new ones start on
          other machines. Interruptible Pods are stopped. Other Pods stay until somebody stops them, and say why.
        </p>
        <p>You can take it back at any time.</p>
      </div>
    </Confirm>
  );
}
