/** What the server does in the background: how each duty last ended, why one failed, and which hang. */
import type { Duty } from "@millrace/platform/resources/installation/model.ts";
import { curlOf } from "../../api/curl.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Duration, durationText, Status, When } from "../../design/facts.tsx";
import { Choice } from "../../design/field.tsx";
import { Empty, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { useView } from "../../shell/view.ts";
import { InstallationPage } from "./frame.tsx";
import css from "./installation.module.css";

export const isFailing = ({ failuresInRow, overdue }: Duty) => failuresInRow > 0 || overdue;

export const troubleOf = ({ name, overdue, failuresInRow, lastError }: Duty) =>
  overdue
    ? `“${name}” takes longer than it should, and probably hangs`
    : `“${name}” failed ${failuresInRow} times in a row: ${lastError}`;

const columns: Column<Duty>[] = [
  { id: "name", title: "Duty", value: ({ name }) => name },
  {
    id: "result",
    title: "Last result",
    value: ({ lastResult }) => lastResult,
    cell: (duty) => <Result duty={duty} />,
  },
  {
    id: "error",
    title: "Last error",
    value: ({ lastError }) => lastError,
    cell: ({ lastError, lastErrorAt }) =>
      lastError ? (
        <span className={css.error} title={lastError}>
          {lastError}{" "}
          <span className="quiet">
            (<When at={lastErrorAt} />)
          </span>
        </span>
      ) : (
        <span className="quiet">–</span>
      ),
  },
  {
    id: "at",
    title: "Last run",
    value: ({ lastRunAt }) => lastRunAt,
    cell: ({ lastRunAt }) => <When at={lastRunAt} />,
  },
  {
    id: "took",
    title: "Took",
    value: ({ lastTook }) => lastTook,
    cell: ({ lastTook }) => <Duration ms={lastTook} />,
    isNumber: true,
  },
  {
    id: "every",
    title: "Every",
    value: ({ every }) => every,
    cell: ({ every }) => (every === null ? "after an event" : durationText(every * 1000)),
    isNumber: true,
  },
  { id: "runs", title: "Runs", value: ({ runs }) => runs, isNumber: true },
  { id: "node", title: "Node", value: ({ node }) => node, isExtra: true },
];

function Result({ duty }: { duty: Duty }) {
  if (duty.overdue) return <Status value="HANGS" tone="bad" />;
  if (isFailing(duty)) return <Status value={`FAILED ${duty.failuresInRow} times`} tone="bad" />;
  if (duty.running) return <Status value="RUNNING" tone="accent" />;
  return duty.lastResult ? <Status value={duty.lastResult} tone="good" /> : <span className="quiet">not run yet</span>;
}

const SHOWN = [
  { value: "all", label: "All duties" },
  { value: "failing", label: "Failing now" },
  { value: "failed", label: "Failed at least once" },
] as const;

const FITS: Record<(typeof SHOWN)[number]["value"], (duty: Duty) => boolean> = {
  all: () => true,
  failing: isFailing,
  failed: ({ lastError }) => lastError !== null,
};

export function Duties() {
  const read = useRead("listDuties", {}, { refetchInterval: 5000 });
  const [shown, setShown] = useView<(typeof SHOWN)[number]["value"]>("show", "all");
  return (
    <InstallationPage name="Duties" curl={curlOf("listDuties")}>
      {read.error && !read.data ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <DataTable
          name="duties"
          rows={read.data?.duties.filter(FITS[shown] ?? FITS.all)}
          columns={columns}
          idOf={({ node, name }) => `${node} ${name}`}
          tools={<Choice label="Which duties" value={shown} onChange={setShown} options={SHOWN} />}
          empty={
            <Empty title={shown === "failing" ? "No duty fails" : "No such duty"}>
              The node that answers lists its own duties. A duty that fails is tried again by itself.
            </Empty>
          }
        />
      )}
    </InstallationPage>
  );
}
