/** Models of the installation: files that the owner adds once, and that workers see read-only. */
import type { Model } from "@millrace/platform/resources/models/model.ts";
import { Plus } from "lucide-react";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { models } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { When, wordsOf } from "../../design/facts.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { Menu } from "../../design/menu.tsx";
import { DataTable } from "../../design/table.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { modelColumns } from "../../parts/model-columns.tsx";
import { InstallationPage } from "./frame.tsx";
import { AddModel, ChangeModel, DeleteModel } from "./model-dialogs.tsx";

const own: Column<Model>[] = [
  // The revision and the day leave their room to the machines and the accounts.
  ...modelColumns<Model>().map((column) => (column.id === "revision" ? { ...column, isExtra: true } : column)),
  {
    id: "copies",
    title: "Machines",
    value: ({ copies }) => copies.filter(({ status }) => status === "READY").length,
    cell: ({ copies }) => <Copies copies={copies} />,
    isNumber: true,
  },
  {
    id: "whom",
    title: "For",
    value: ({ everyone, accounts }) => (everyone ? "all accounts" : `${accounts.length + 1}`),
    cell: ({ everyone, accounts }) =>
      everyone ? "all accounts" : accounts.length === 0 ? "this account" : `this account and ${accounts.length} more`,
    fields: ["everyone", "accounts"],
  },
  {
    id: "createdAt",
    title: "Added",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
    isExtra: true,
  },
];
const columns = columnsFrom(models.models, own);

/** How many machines have it, with their names on hover. */
function Copies({ copies }: Pick<Model, "copies">) {
  const words = copies.map(({ machine, status }) => `${machine ?? "shared storage"}: ${wordsOf(status)}`);
  const ready = copies.filter(({ status }) => status === "READY").length;
  return <span title={words.join("\n")}>{ready === copies.length ? ready : `${ready} of ${copies.length}`}</span>;
}

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
