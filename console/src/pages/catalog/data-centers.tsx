/** Data centers: where they are, what they offer, and what is free there. */
import { compliances, regions } from "@millrace/platform/catalog/words.ts";
import type { DataCenter } from "@millrace/platform/resources/catalog/model.ts";
import { type ReactNode, useMemo } from "react";
import type { Ask } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { records } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { wordsOf } from "../../design/facts.tsx";
import { Choice, Tick } from "../../design/field.tsx";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { namesMatch } from "./places.ts";

const freeIn = (types: DataCenter["gpuAvailability"] | DataCenter["cpuAvailability"]) =>
  types?.filter(({ availability }) => availability !== "NONE") ?? [];

const namesOf = (types: readonly { name: string }[]) =>
  types.length === 0 ? (
    <span className="quiet">–</span>
  ) : types.length > 3 ? (
    `${types.length} types`
  ) : (
    types.map(({ name }) => name).join(", ")
  );

const own: Column<DataCenter>[] = [
  { id: "id", title: "Data center", value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  { id: "name", title: "Name", value: ({ name }) => name },
  { id: "region", title: "Region", value: ({ region }) => wordsOf(region) },
  {
    id: "gpuAvailability",
    title: "GPUs free",
    value: ({ gpuAvailability }) => freeIn(gpuAvailability).length,
    cell: ({ gpuAvailability }) => (
      <span
        title={freeIn(gpuAvailability)
          .map(({ name }) => name)
          .join("\n")}
      >
        {namesOf(freeIn(gpuAvailability))}
      </span>
    ),
  },
  {
    id: "cpuAvailability",
    title: "CPUs free",
    value: ({ cpuAvailability }) => freeIn(cpuAvailability).length,
    cell: ({ cpuAvailability }) => (
      <span
        title={freeIn(cpuAvailability)
          .map(({ name }) => name)
          .join("\n")}
      >
        {namesOf(freeIn(cpuAvailability))}
      </span>
    ),
  },
  {
    id: "networkVolumeTypes",
    title: "Network volumes",
    value: ({ networkVolumeTypes }) => networkVolumeTypes.map(wordsOf).join(", "),
  },
  { id: "globalNetwork", title: "Global network", value: ({ globalNetwork }) => (globalNetwork ? "Yes" : "No") },
  { id: "compliance", title: "Compliance", value: ({ compliance }) => compliance.join(", "), isExtra: true },
];
const ANY = "any";

export function DataCenterCatalog({ tabs }: { tabs: ReactNode }) {
  const [text, setText] = useView<string>("q", "");
  const [region, setRegion] = useView<string>("region", ANY);
  const [compliance, setCompliance] = useView<string>("compliance", ANY);
  const [here, setHere] = useView("machines");
  const query: Ask<"listDataCenters">["query"] = {
    include: ["GPU_AVAILABILITY", "CPU_AVAILABILITY"],
    ...(region !== ANY && { regions: [region as (typeof regions)[number]] }),
    ...(compliance !== ANY && { compliance: [compliance as (typeof compliances)[number]] }),
  };
  const read = useRead("listDataCenters", { query }, { keep: true, refetchInterval: 15_000 });
  const rows = useMemo(
    () =>
      read.data?.dataCenters.filter(
        ({ id, name, gpuAvailability, cpuAvailability }) =>
          namesMatch(text, [id, name]) &&
          (here === undefined || Boolean(gpuAvailability?.length || cpuAvailability?.length)),
      ),
    [read.data, text, here],
  );
  const columns = useMemo(() => columnsFrom(records.dataCenters, own), []);
  return (
    <Page
      title="Catalog"
      about="Data centers by name. Only those in which this installation has machines can run anything."
      curl={curlOf("listDataCenters", { query })}
      tabs={tabs}
    >
      {read.error && !rows ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <DataTable
          name="data-centers"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          tools={
            <>
              <SearchField label="Name" value={text} onChange={setText} />
              <Choice
                label="Region"
                value={region}
                onChange={setRegion}
                options={[
                  { value: ANY, label: "Any region" },
                  ...regions.map((one) => ({ value: one, label: wordsOf(one) })),
                ]}
              />
              <Choice
                label="Compliance"
                value={compliance}
                onChange={setCompliance}
                options={[
                  { value: ANY, label: "Any compliance" },
                  ...compliances.map((one) => ({ value: one, label: one })),
                ]}
              />
              <Tick
                label="With machines"
                value={here !== undefined}
                onChange={(on) => setHere(on ? "yes" : undefined)}
              />
            </>
          }
          empty={<Empty title="No data center fits the filters">Change or clear them to see the rest.</Empty>}
        />
      )}
    </Page>
  );
}
