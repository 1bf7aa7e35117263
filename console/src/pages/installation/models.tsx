/** Models of the installation: files that the owner adds once, and that workers see read-only. */
import type { Model } from "@millrace/platform/resources/models/model.ts";
import { Plus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Id, Status, sizeText, When } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { Reason } from "../../design/reason.tsx";
import { DataTable } from "../../design/table.tsx";
import { InstallationPage } from "./frame.tsx";
import { AddModel, ChangeModel, DeleteModel } from "./model-dialogs.tsx";

const TONES = { READY: "good", FILLING: "wait", FAILED: "bad" } as const;
const toneOf = (status: string) => TONES[status as keyof typeof TONES];

const columns: Column<Model>[] = [
  { id: "name", title: "Model", value: ({ name }) => name },
  {
    id: "status",
    title: "Status",
    value: ({ status }) => status,
    cell: ({ status, statusReason, statusReasonCode }) => (
      <span>
        <Status value={status} tone={toneOf(status)} />
        <Reason text={statusReason} code={statusReasonCode ?? undefined} tone={status === "FAILED" ? "bad" : "wait"} />
      </span>
    ),
  },
  { id: "revision", title: "Revision", value: ({ revision }) => revision },
  {
    id: "size",
    title: "Size",
    value: ({ size }) => size,
    cell: ({ size }) => (size === null ? "" : sizeText(size)),
    isNumber: true,
  },
  {
    id: "copies",
    title: "Machines",
    value: ({ copies }) => copies.map(({ machine, status }) => `${machine ?? "shared storage"} ${status}`).join(", "),
    cell: ({ copies }) => (
      <>
        {copies.map(({ machine, status, statusReason }) => (
          <div key={machine} title={statusReason ?? undefined}>
            {machine ?? "shared storage"} <Status value={status} tone={toneOf(status)} />
          </div>
        ))}
      </>
    ),
  },
  {
    id: "whom",
    title: "For",
    value: ({ everyone, accounts }) => (everyone ? "all accounts" : `${accounts.length + 1}`),
    cell: ({ everyone, accounts }) =>
      everyone ? "all accounts" : accounts.length === 0 ? "this account" : `this account and ${accounts.length} more`,
  },
  { id: "source", title: "Source", value: ({ source }) => source, isExtra: true },
  {
    id: "created",
    title: "Added",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

export function Models() {
  const { data, error, refetch } = useRead("listModels", {}, { refetchInterval: 3000 });
  const [isAdding, setAdding] = useState(false);
  const [asked, setAsked] = useState<{ what: "change" | "delete"; model: Model }>();
  const close = () => setAsked(undefined);
  const Asking = asked && { change: ChangeModel, delete: DeleteModel }[asked.what];
  return (
    <InstallationPage
      name="Models"
      curl={curlOf("listModels")}
      actions={
        <Button kind="primary" icon={<Plus />} onClick={() => setAdding(true)}>
          Add model
        </Button>
      }
    >
      {error && !data ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="models"
          rows={data?.models}
          columns={columns}
          idOf={({ id }) => id}
          rowActions={(model) => (
            <Menu
              label={`Actions for ${model.name}`}
              items={[
                { label: "Who may use it", onSelect: () => setAsked({ what: "change", model }) },
                { label: "Delete", isDanger: true, onSelect: () => setAsked({ what: "delete", model }) },
              ]}
            />
          )}
          empty={
            <Empty title="No models" command="millrace models add --name org/name --folder /srv/models/name">
              Add the files of a model once: endpoints that name it see them read-only on every machine, without a
              download.
            </Empty>
          }
        />
      )}
      {isAdding && <AddModel onClose={() => setAdding(false)} />}
      {asked && Asking && <Asking model={asked.model} onClose={close} />}
    </InstallationPage>
  );
}
