/** The columns of models that their list for an account and that of the installation share. */
import type { Column } from "../design/column.ts";
import { Id, Status, sizeText } from "../design/facts.tsx";
import { ShortReason } from "../design/reason.tsx";

interface AnyModel {
  name: string;
  status: string;
  statusReason: string | null;
  statusReasonCode?: string | null;
  revision: string | null;
  size: number | null;
  copies?: readonly Pick<AnyModel, "status" | "statusReason" | "statusReasonCode">[];
}

const TONES = { READY: "good", FILLING: "wait", FAILED: "bad" } as const;

/** Why the model is not ready, or why one of the machines has no copy of it. */
function whyOf(model: AnyModel): { text: string | null; code: string | null } {
  const failed = model.statusReason === null ? model.copies?.find(({ status }) => status === "FAILED") : undefined;
  const { statusReason, statusReasonCode } = failed ?? model;
  return { text: statusReason, code: statusReasonCode ?? null };
}

export const modelColumns = <Row extends AnyModel>(): Column<Row>[] => [
  {
    id: "name",
    title: "Model",
    value: ({ name }) => name,
    cell: ({ name }) => <Id value={name} copies="the name" />,
  },
  {
    id: "status",
    title: "Status",
    value: ({ status }) => status,
    cell: ({ status }) => <Status value={status} tone={TONES[status as keyof typeof TONES]} />,
  },
  {
    id: "why",
    title: "Why",
    value: (model) => whyOf(model).text,
    cell: (model) => <ShortReason {...whyOf(model)} />,
    isWide: true,
    fields: ["statusReason", "statusReasonCode"],
  },
  {
    id: "size",
    title: "Size",
    value: ({ size }) => size,
    cell: ({ size }) => (size === null ? <span className="quiet">–</span> : sizeText(size)),
    isNumber: true,
  },
  {
    id: "revision",
    title: "Revision",
    value: ({ revision }) => revision,
    cell: ({ revision }) =>
      revision === null ? <span className="quiet">–</span> : <Id value={revision} short copies="the revision" />,
  },
];
