/** The audit log: who changed what, when, from where, and with what outcome. */
import type { AuditEntry } from "@millrace/platform/resources/audit/model.ts";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { records } from "../../api/models.data.ts";
import { changingOperations } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { When } from "../../design/facts.tsx";
import { Choice } from "../../design/field.tsx";
import { Empty, Facts, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { useList } from "../../parts/resource-list.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import css from "./audit.module.css";
import { Outcome, columns as own, ResourceLink } from "./columns.tsx";
import { actorText, fromOf, operationText, type RangeName } from "./entries.ts";

const ANY = "any";

export function AuditList() {
  const [operation, setOperation] = useView<string>("operation", ANY);
  const [resource, setResource] = useView("resource");
  const [key, setKey] = useView("key");
  const [range, setRange] = useView<RangeName>("range", "all");
  const [entryId, setEntry] = useView("entry");
  const from = useMemo(() => fromOf(range, Date.now()), [range]);
  const query = {
    limit: 100,
    ...(operation !== ANY && { operation }),
    ...(resource && { resource }),
    ...(key && { key }),
    ...(from && { from }),
  };
  const { rows, error, refetch, more } = useList<AuditEntry>({ list: "listAuditEntries", key: "entries" }, query);
  const columns = useMemo(() => columnsFrom(records.audit, own), []);
  const isFiltered = Boolean(resource || key || from || operation !== ANY);
  const navigate = useNavigate();
  const clear = () => void navigate({ to: "/audit", search: {} });
  return (
    <Page
      title="Audit log"
      about="Every change in the account: who made it, when and from where. Names of fields are kept, values never."
      curl={curlOf("listAuditEntries", { query })}
      actions={
        <Button kind="quiet" onClick={() => void refetch()}>
          Read again
        </Button>
      }
    >
      {error && !rows ? (
        <Refused refusal={error} retry={() => void refetch()} />
      ) : (
        <DataTable
          name="audit"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          more={more}
          onOpen={({ id }) => setEntry(id)}
          tools={
            <>
              <Choice
                label="Operation"
                value={operation}
                onChange={setOperation}
                options={[
                  { value: ANY, label: "Any operation" },
                  ...changingOperations.map((name) => ({
                    value: name,
                    label: operationText({ operation: name, action: null }),
                  })),
                ]}
              />
              <Choice
                label="Time"
                value={range}
                onChange={setRange}
                options={[
                  { value: "all", label: "Any time" },
                  { value: "1h", label: "Last hour" },
                  { value: "24h", label: "Last 24 hours" },
                  { value: "7d", label: "Last 7 days" },
                  { value: "30d", label: "Last 30 days" },
                ]}
              />
              <SearchField label="Resource id" value={resource ?? ""} onChange={setResource} />
              <SearchField label="Id of a person or key" value={key ?? ""} onChange={setKey} />
              {isFiltered && (
                <Button kind="quiet" size="small" onClick={clear}>
                  Clear filters
                </Button>
              )}
            </>
          }
          empty={
            isFiltered ? (
              <Empty title="Nothing fits the filters">
                {more.has ? "Older entries are still being read." : "Change or clear them to see the rest."}
              </Empty>
            ) : (
              <Empty title="Nothing was changed yet">
                Whatever anybody changes in the account is written down here.
              </Empty>
            )
          }
        />
      )}
      <Entry entry={rows?.find(({ id }) => id === entryId)} onClose={() => setEntry(undefined)} onActor={setKey} />
    </Page>
  );
}

interface EntryProps {
  entry: AuditEntry | undefined;
  onClose: () => void;
  onActor: (id: string) => void;
}

function Entry({ entry, onClose, onActor }: EntryProps) {
  return (
    <Dialog isOpen={entry !== undefined} onClose={onClose} title={entry ? operationText(entry) : ""} isDrawer>
      {entry && (
        <div className={css.entry}>
          <Facts
            rows={[
              ["When", <When key="at" at={entry.at} />],
              ["Exactly", <code key="exact">{entry.at}</code>],
              ["Who", actorText(entry)],
              ["Resource", <ResourceLink key="resource" entry={entry} />],
              ["Outcome", <Outcome key="outcome" value={entry.outcome} />],
              entry.reason !== null && ["Reason", entry.reason],
              ["From", <code key="address">{entry.address ?? "–"}</code>],
              ["Client", entry.userAgent ?? "–"],
              ["Fields sent", entry.fields.length > 0 ? <code key="fields">{entry.fields.join(", ")}</code> : "None"],
              ["Operation", <code key="operation">{entry.operation}</code>],
            ]}
          />
          {entry.actor.id && (
            <Button
              onClick={() => {
                onActor(entry.actor.id!);
                onClose();
              }}
            >
              All that {actorText(entry)} did
            </Button>
          )}
        </div>
      )}
    </Dialog>
  );
}
