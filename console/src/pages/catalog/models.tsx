/** Models that the account may use, as endpoints name them. */
import type { UsableModel } from "@millrace/platform/resources/models/model.ts";
import type { ReactNode } from "react";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Status, sizeText } from "../../design/facts.tsx";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { AGAIN_MS } from "./types-page.tsx";

const TONES = { READY: "good", FILLING: "wait", FAILED: "bad" } as const;

const columns: Column<UsableModel>[] = [
  { id: "name", title: "Model", value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  {
    id: "status",
    title: "Status",
    value: ({ status }) => status,
    cell: ({ status, statusReason }) => (
      <span title={statusReason ?? undefined}>
        <Status value={status} tone={TONES[status as keyof typeof TONES]} />
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
  { id: "path", title: "Where workers see it", value: ({ path }) => path, cell: ({ path }) => <code>{path}</code> },
];

export function ModelCatalog({ tabs }: { tabs: ReactNode }) {
  const { data, error, refetch } = useRead("listUsableModels", {}, { refetchInterval: AGAIN_MS });
  return (
    <Page
      title="Catalog"
      about="Models that an endpoint names in modelReferences. Its workers see them read-only, without a download."
      curl={curlOf("listUsableModels")}
      tabs={tabs}
    >
      {error && !data ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="usable-models"
          rows={data?.models}
          columns={columns}
          idOf={({ name, revision }) => `${name}:${revision}`}
          empty={
            <Empty title="No models">The owner of the installation adds models, for all accounts or for some.</Empty>
          }
        />
      )}
    </Page>
  );
}
