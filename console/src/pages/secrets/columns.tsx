/** Columns of the list of secrets. */
import type { Secret } from "@millrace/platform/resources/secrets/model.ts";
import type { Column } from "../../design/column.ts";
import { Id, When } from "../../design/facts.tsx";

export const columns: Column<Secret>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  { id: "description", title: "Description", value: ({ description }) => description },
  {
    id: "valueLastUpdatedAt",
    title: "Value set",
    value: ({ valueLastUpdatedAt }) => valueLastUpdatedAt,
    cell: ({ valueLastUpdatedAt }) => <When at={valueLastUpdatedAt} />,
  },
  {
    id: "createdAt",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];
