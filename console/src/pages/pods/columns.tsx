/** Columns of the list of Pods. */
import type { Pod } from "@millrace/platform/resources/pods/model.ts";
import type { Column } from "../../design/column.ts";
import { Duration, Id, Money, Status, useNow, When } from "../../design/facts.tsx";
import { StateWithReason } from "../../design/reason.tsx";
import { computeText, uptimeOf } from "./state.ts";

export const columns: Column<Pod>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <strong>{name}</strong> },
  {
    id: "status",
    title: "Status",
    fields: ["statusReason", "statusReasonCode"],
    value: ({ status }) => status,
    cell: ({ status, statusReason, statusReasonCode }) => (
      <StateWithReason text={statusReason} code={statusReasonCode}>
        <Status value={status} />
      </StateWithReason>
    ),
    isWide: true,
  },
  { id: "compute", title: "Compute", fields: ["gpu", "cpu"], value: computeText },
  {
    id: "cost",
    title: "Cost",
    isNumber: true,
    value: ({ cost }) => cost,
    cell: ({ cost }) => <Money usd={cost} per="h" />,
  },
  {
    id: "uptime",
    title: "Uptime",
    fields: ["startedAt"],
    isNumber: true,
    value: (pod) => uptimeOf(pod, Date.now()),
    cell: (pod) => <Uptime pod={pod} />,
  },
  { id: "dataCenterId", title: "Data center", value: ({ dataCenterId }) => dataCenterId },
  {
    id: "createdAt",
    title: "Created",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
    isExtra: true,
  },
  {
    id: "image",
    title: "Image",
    value: ({ image }) => image,
    cell: ({ image }) => <code>{image}</code>,
    isExtra: true,
  },
  { id: "id", title: "ID", value: ({ id }) => id, cell: ({ id }) => <Id value={id} />, isExtra: true },
];

/** Grows while one looks. */
export function Uptime({ pod }: { pod: Pick<Pod, "status" | "startedAt"> }) {
  return <Duration ms={uptimeOf(pod, useNow())} />;
}
