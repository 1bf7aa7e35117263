/** Columns of the lists of templates. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import type { Column } from "../../design/column.ts";
import { Id } from "../../design/facts.tsx";

export const columns: Column<Template>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
  { id: "image", title: "Image", value: ({ image }) => image, cell: ({ image }) => <code>{image}</code> },
  {
    id: "serverless",
    title: "For",
    value: ({ serverless }) => (serverless ? "Endpoints" : "Pods"),
  },
  { id: "category", title: "Hardware", value: ({ category }) => category },
  { id: "disk", title: "Disk, GB", value: ({ disk }) => disk, isNumber: true },
  { id: "public", title: "Public", value: (template) => (template.public ? "Yes" : "No"), isExtra: true },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];
