/** CPU flavors: sizes, price, what is free and where. */

import type { CpuType } from "@millrace/platform/resources/catalog/model.ts";
import { type ReactNode, useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { records } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Money } from "../../design/facts.tsx";
import { Choice, Tick } from "../../design/field.tsx";
import { Empty, Page, Refused } from "../../design/layout.tsx";
import { DataTable } from "../../design/table.tsx";
import { columnsFrom } from "../../parts/derived.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { namesMatch } from "./places.ts";
import { Free, Places } from "./stock.tsx";

const own: Column<CpuType>[] = [
  {
    id: "name",
    title: "CPU",
    value: ({ name }) => name,
    cell: ({ name, id }) => (
      <>
        <strong>{name}</strong> <code className="quiet">{id}</code>
      </>
    ),
    fields: ["id"],
  },
  {
    id: "vcpu",
    title: "vCPU",
    value: ({ vcpu }) => vcpu.max,
    cell: ({ vcpu }) => `${vcpu.min} to ${vcpu.max}`,
    isNumber: true,
  },
  { id: "ramGbPerVcpu", title: "GB per vCPU", value: ({ ramGbPerVcpu }) => ramGbPerVcpu, isNumber: true },
  {
    id: "availability",
    title: "Free now",
    value: ({ availability }) => availability,
    cell: ({ availability }) => <Free value={availability} />,
  },
  {
    id: "pod",
    title: "Pod, $/vCPU h",
    value: ({ price }) => price.securePerVcpu,
    cell: ({ price }) => <Money usd={price.securePerVcpu} />,
    fields: ["price"],
    isNumber: true,
  },
  {
    id: "worker",
    title: "Worker, $/vCPU h",
    value: ({ price }) => price.serverlessPerVcpu,
    cell: ({ price }) => <Money usd={price.serverlessPerVcpu} />,
    isNumber: true,
  },
  {
    id: "dataCenters",
    title: "Where",
    value: ({ dataCenters }) => dataCenters?.map(({ id }) => id).join(" "),
    cell: ({ dataCenters }) => <Places places={dataCenters} />,
  },
];

export function CpuCatalog({ tabs }: { tabs: ReactNode }) {
  const [text, setText] = useView<string>("q", "");
  const [product, setProduct] = useView<"POD" | "SERVERLESS">("product", "POD");
  const [free, setFree] = useView("free");
  const query = { include: "AVAILABILITY" as const, product: [product] };
  const read = useRead("listCpuTypes", { query }, { keep: true, refetchInterval: 15_000 });
  const rows = useMemo(
    () =>
      read.data?.cpus.filter(
        (type) =>
          (free === undefined || (type.availability ?? "NONE") !== "NONE") &&
          namesMatch(text, [type.id, type.name, type.group]),
      ),
    [read.data, free, text],
  );
  const columns = useMemo(() => columnsFrom(records.cpuTypes, own), []);
  return (
    <Page
      title="Catalog"
      about="CPU flavors of this installation. The price is for each vCPU, its memory included."
      curl={curlOf("listCpuTypes", { query })}
      tabs={tabs}
    >
      {read.error && !rows ? (
        <Refused refusal={read.error} retry={() => void read.refetch()} />
      ) : (
        <DataTable
          name="cpu-types"
          rows={rows}
          columns={columns}
          idOf={({ id }) => id}
          tools={
            <>
              <SearchField label="Name" value={text} onChange={setText} />
              <Choice
                label="Free for"
                value={product}
                onChange={setProduct}
                options={[
                  { value: "POD", label: "Free for Pods" },
                  { value: "SERVERLESS", label: "Free for workers" },
                ]}
              />
              <Tick label="Free now" value={free !== undefined} onChange={(on) => setFree(on ? "yes" : undefined)} />
            </>
          }
          empty={<Empty title="No CPU fits the filters">Change or clear them to see the rest.</Empty>}
        />
      )}
    </Page>
  );
}
