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
import { useView } from "../../shell/view.ts";
import { namesMatch } from "./places.ts";
import { AGAIN_MS, Filter, Flag, TypesPage } from "./types-page.tsx";

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
const REGIONS = [
  { value: ANY, label: "Any region" },
  ...regions.map((region) => ({ value: region, label: wordsOf(region) })),
] as const;
const COMPLIANCES = [
  { value: ANY, label: "Any compliance" },
  ...compliances.map((one) => ({ value: one, label: one })),
] as const;

export function DataCenterCatalog({ tabs }: { tabs: ReactNode }) {
  const [text] = useView<string>("q", "");
  const [region] = useView<string>("region", ANY);
  const [compliance] = useView<string>("compliance", ANY);
  const [here] = useView("machines");
  const query: Ask<"listDataCenters">["query"] = {
    include: ["GPU_AVAILABILITY", "CPU_AVAILABILITY"],
    ...(region !== ANY && { regions: [region as (typeof regions)[number]] }),
    ...(compliance !== ANY && { compliance: [compliance as (typeof compliances)[number]] }),
  };
  const read = useRead("listDataCenters", { query }, { keep: true, refetchInterval: AGAIN_MS });
  const rows = useMemo(
    () =>
      read.data?.dataCenters.filter(
        ({ id, name, gpuAvailability, cpuAvailability }) =>
          namesMatch(text, [id, name]) &&
          (here === undefined || Boolean(gpuAvailability?.length || cpuAvailability?.length)),
      ),
    [read.data, text, here],
  );
  return (
    <TypesPage
      one="data center"
      about="Data centers by name. Only those in which this installation has machines can run anything."
      curl={curlOf("listDataCenters", { query })}
      tabs={tabs}
      read={read}
      rows={rows}
      model={records.dataCenters}
      columns={own}
      filters={
        <>
          <Filter label="Region" name="region" options={REGIONS} />
          <Filter label="Compliance" name="compliance" options={COMPLIANCES} />
          <Flag label="With machines" name="machines" />
        </>
      }
    />
  );
}
