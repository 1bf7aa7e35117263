/** Models that the account may use, as endpoints name them. */
import type { UsableModel } from "@millrace/platform/resources/models/model.ts";
import { type ReactNode, useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { records } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Id } from "../../design/facts.tsx";
import { Empty } from "../../design/layout.tsx";
import { modelColumns } from "../../parts/model-columns.tsx";
import { useView } from "../../shell/view.ts";
import { namesMatch } from "./places.ts";
import { AGAIN_MS, TypesPage } from "./types-page.tsx";

type Row = UsableModel & { id: string };

const own: Column<Row>[] = [
  ...modelColumns<Row>(),
  {
    id: "path",
    title: "Where workers see it",
    value: ({ path }) => path,
    cell: ({ path }) => <Id value={path} short="end" copies="the path" />,
  },
];

export function ModelCatalog({ tabs }: { tabs: ReactNode }) {
  const [text] = useView<string>("q", "");
  const read = useRead("listUsableModels", {}, { refetchInterval: AGAIN_MS });
  const all = read.data?.models;
  const rows = useMemo(
    () =>
      all
        ?.filter(({ name }) => namesMatch(text, [name]))
        .map((model) => ({ ...model, id: `${model.name}:${model.revision}` })),
    [all, text],
  );
  return (
    <TypesPage
      one="model"
      about="Models that an endpoint names in modelReferences. Its workers see them read-only, without a download."
      curl={curlOf("listUsableModels")}
      tabs={tabs}
      read={read}
      rows={rows}
      model={records.usableModels}
      columns={own}
      {...(all?.length === 0 && {
        none: <Empty title="No models">The owner of the installation adds models, for all accounts or for some.</Empty>,
      })}
    />
  );
}
