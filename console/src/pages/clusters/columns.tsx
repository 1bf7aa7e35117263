/** Columns of the list of clusters. */
import type { Cluster } from "@millrace/platform/resources/clusters/model.ts";
import type { Column } from "../../design/column.ts";
import { Status, When, wordsOf } from "../../design/facts.tsx";
import { clusterText, membersText, wholeStatus } from "./state.ts";

export const columns: Column<Cluster>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
  {
    id: "status",
    title: "Status",
    fields: ["pods"],
    value: membersText,
    cell: (cluster) => (
      <>
        <Status value={wholeStatus(cluster)} />
        <span className="quiet">{membersText(cluster)}</span>
      </>
    ),
  },
  { id: "compute", title: "Compute", value: clusterText },
  { id: "type", title: "Kind", value: ({ type }) => wordsOf(type) },
  { id: "dataCenterId", title: "Data center", value: ({ dataCenterId }) => dataCenterId },
  {
    id: "createdAt",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
];
