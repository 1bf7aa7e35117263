/** Columns of the lists of registries and of delegations. */
import type { Delegation, Registry } from "@millrace/platform/resources/registries/model.ts";
import type { Column } from "../../design/column.ts";
import { Id, When } from "../../design/facts.tsx";

export const columns: Column<Registry>[] = [
  { id: "name", title: "Name", value: ({ name }) => name },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} /> },
];

export const delegationColumns: Column<Delegation>[] = [
  { id: "name", title: "Name", value: ({ name }) => name },
  {
    id: "repository",
    title: "Repository",
    value: ({ repository }) => repository,
    cell: ({ repository, tag }) => <code>{`${repository}:${tag}`}</code>,
    fields: ["tag"],
  },
  {
    id: "awsUser",
    title: "AWS account",
    value: ({ awsUser }) => awsUser,
    cell: ({ awsUser }) => <code>{awsUser}</code>,
  },
  { id: "awsRegion", title: "Region", value: ({ awsRegion }) => awsRegion },
  {
    id: "createdAt",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
];
