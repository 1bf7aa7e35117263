/** What the lists of the catalog share: their page, and the filters by name and by what is free. */
import { type ReactNode, useMemo } from "react";
import type { Refusal } from "../../api/refusal.ts";
import type { Column } from "../../design/column.ts";
import { Choice, type Option, Tick } from "../../design/field.tsx";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";

/** Places and stock change without an event. */
export const AGAIN_MS = 15_000;

interface TypesPageProps<Row> {
  /** `GPU`, in sentences. */
  one: string;
  about: string;
  curl: string;
  tabs: ReactNode;
  read: { error: Refusal | null; refetch: () => unknown };
  rows: readonly Row[] | undefined;
  model: Parameters<typeof columnsFrom>[0];
  columns: readonly Column<Row>[];
  /** Further filters, beside the name. */
  filters?: ReactNode;
  /** What is said instead of a list where there is nothing, whatever the filters are. */
  none?: ReactNode;
  rowActions?: (row: Row) => ReactNode;
}

export function TypesPage<Row extends { id: string }>(props: TypesPageProps<Row>) {
  const { one, about, curl, tabs, read, rows, model, columns, filters, none, rowActions } = props;
  const [text, setText] = useView<string>("q", "");
  const allColumns = useMemo(() => columnsFrom(model, columns), [model, columns]);
  return (
    <Page title="Catalog" about={about} curl={curl} tabs={tabs}>
      {read.error && !rows ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <DataTable
          name={`${one.toLowerCase().replace(" ", "-")}s`}
          rows={rows}
          columns={allColumns}
          idOf={({ id }) => id}
          {...(rowActions && { rowActions })}
          tools={
            !none && (
              <>
                <SearchField label="Name" value={text} onChange={setText} />
                {filters}
              </>
            )
          }
          empty={none ?? <Empty title={`No ${one} fits the filters`}>Change or clear them to see the rest.</Empty>}
        />
      )}
    </Page>
  );
}

/** One of several values of a parameter of the address. */
export function Filter<V extends string>({
  label,
  name,
  options,
}: {
  label: string;
  name: string;
  /** The first is the one without a filter. */
  options: readonly [Option<V>, ...Option<V>[]];
}) {
  const [value, setValue] = useView<V>(name, options[0].value);
  return <Choice label={label} value={value} onChange={setValue} options={options} />;
}

/** A parameter of the address that is there or not. */
export function Flag({ label, name }: { label: string; name: string }) {
  const [value, setValue] = useView(name);
  return <Tick label={label} value={value !== undefined} onChange={(on) => setValue(on ? "yes" : undefined)} />;
}
