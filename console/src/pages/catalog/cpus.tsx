/** CPU flavors: sizes, price, what is free and where. */

import type { CpuType } from "@millrace/platform/resources/catalog/model.ts";
import { type ReactNode, useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { records } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import type { Column } from "../../design/column.ts";
import { Money } from "../../design/facts.tsx";
import { useView } from "../../shell/view.ts";
import { namesMatch } from "./places.ts";
import { Free, Places } from "./stock.tsx";
import { AGAIN_MS, Filter, Flag, TypesPage } from "./types-page.tsx";

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

const PRODUCTS = [
  { value: "POD", label: "Free for Pods" },
  { value: "SERVERLESS", label: "Free for workers" },
] as const;

export function CpuCatalog({ tabs }: { tabs: ReactNode }) {
  const [text] = useView<string>("q", "");
  const [product] = useView<"POD" | "SERVERLESS">("product", "POD");
  const [free] = useView("free");
  const query = { include: "AVAILABILITY" as const, product: [product] };
  const read = useRead("listCpuTypes", { query }, { keep: true, refetchInterval: AGAIN_MS });
  const rows = useMemo(
    () =>
      read.data?.cpus.filter(
        (type) =>
          (free === undefined || (type.availability ?? "NONE") !== "NONE") &&
          namesMatch(text, [type.id, type.name, type.group]),
      ),
    [read.data, free, text],
  );
  return (
    <TypesPage
      one="CPU"
      about="CPU flavors of this installation. The price is for each vCPU, its memory included."
      curl={curlOf("listCpuTypes", { query })}
      tabs={tabs}
      read={read}
      rows={rows}
      model={records.cpuTypes}
      columns={own}
      filters={
        <>
          <Filter label="Free for" name="product" options={PRODUCTS} />
          <Flag label="Free now" name="free" />
        </>
      }
    />
  );
}
