/** Columns of the audit log. */
import type { AuditEntry } from "@millrace/platform/resources/audit/model.ts";
import { Link } from "@tanstack/react-router";
import type { Column } from "../../design/column.ts";
import { Status, type Tone, When } from "../../design/facts.tsx";
import { labelOf } from "../../forms/schema.ts";
import { actorText, operationText, pageOf } from "./entries.ts";

const TONES: Record<AuditEntry["outcome"], Tone> = { done: "good", refused: "wait", failed: "bad", unknown: "idle" };

export const Outcome = ({ value }: { value: AuditEntry["outcome"] }) => <Status value={value} tone={TONES[value]} />;

/** The resource of an entry, as a link where the console has a page of it. */
export function ResourceLink({ entry }: { entry: AuditEntry }) {
  if (!entry.resource) return <span className="quiet">–</span>;
  const { type, id } = entry.resource;
  const to = pageOf(entry.resource);
  return (
    <>
      <span className="quiet">{labelOf(type.replaceAll("-", " "))}</span>{" "}
      {id && (to ? <Link to={to}>{<code>{id}</code>}</Link> : <code>{id}</code>)}
    </>
  );
}

export const columns: Column<AuditEntry>[] = [
  { id: "operation", title: "What", value: operationText, fields: ["action"] },
  {
    id: "resource",
    title: "Resource",
    value: ({ resource }) => resource?.id ?? resource?.type,
    cell: (entry) => <ResourceLink entry={entry} />,
  },
  { id: "actor", title: "Who", value: actorText },
  {
    id: "outcome",
    title: "Outcome",
    value: ({ outcome }) => outcome,
    cell: ({ outcome }) => <Outcome value={outcome} />,
  },
  { id: "at", title: "When", value: ({ at }) => at, cell: ({ at }) => <When at={at} /> },
  {
    id: "address",
    title: "From",
    value: ({ address }) => address,
    cell: ({ address }) => <code>{address ?? "–"}</code>,
  },
];
