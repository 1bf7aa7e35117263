/** GPU types: memory, price, what is free and where. */

import type { GpuType } from "@millrace/platform/resources/catalog/model.ts";
import { type ReactNode, useMemo } from "react";
import { curlOf } from "../../api/curl.ts";
import { records } from "../../api/models.data.ts";
import { useRead } from "../../api/queries.ts";
import { ButtonLink } from "../../design/button.tsx";
import type { Column } from "../../design/column.ts";
import { Money } from "../../design/facts.tsx";
import { useView } from "../../shell/view.ts";
import { namesMatch } from "./places.ts";
import { Free, Places } from "./stock.tsx";
import { AGAIN_MS, Filter, Flag, TypesPage } from "./types-page.tsx";

type Product = "POD" | "SERVERLESS" | "CLUSTER";

const own: Column<GpuType>[] = [
  {
    id: "name",
    title: "GPU",
    value: ({ name }) => name,
    cell: ({ name, virtual }) => (
      <>
        <strong>{name}</strong> {virtual && <span className="quiet">virtual</span>}
      </>
    ),
    fields: ["virtual"],
  },
  {
    id: "memory",
    title: "Memory",
    value: ({ memory }) => memory,
    cell: ({ memory }) => `${memory} GB`,
    isNumber: true,
  },
  {
    id: "availability",
    title: "Free now",
    value: ({ availability }) => availability,
    cell: ({ availability }) => <Free value={availability} />,
  },
  priced("secure", "Pod", ({ price }) => price.secure),
  priced("community", "Community", ({ price }) => price.community),
  priced("serverless", "Worker", ({ price }) => price.serverless),
  {
    id: "dataCenters",
    title: "Where",
    value: ({ dataCenters }) => dataCenters?.map(({ id }) => id).join(" "),
    cell: ({ dataCenters }) => <Places places={dataCenters} />,
  },
  { id: "pool", title: "Pool", value: ({ pool }) => pool, cell: ({ pool }) => <code>{pool ?? "–"}</code> },
  {
    id: "cudaVersions",
    title: "CUDA",
    value: ({ cudaVersions }) => cudaVersions?.map(({ version }) => version).join(" "),
    isExtra: true,
  },
  {
    id: "maxCount",
    title: "Most in a Pod",
    value: ({ maxCount }) => Math.max(maxCount.secure, maxCount.community),
    isNumber: true,
    isExtra: true,
  },
];

/** A price of 0 stands for a cloud that does not offer the type. */
function priced(id: string, title: string, price: (type: GpuType) => number | undefined): Column<GpuType> {
  return {
    ...{ id, title, isNumber: true, fields: ["price"] },
    value: (type) => price(type) || undefined,
    cell: (type) => <Money usd={price(type) || undefined} per="h" />,
  };
}

const PRODUCTS = [
  { value: "POD", label: "Free for Pods" },
  { value: "SERVERLESS", label: "Free for workers" },
  { value: "CLUSTER", label: "Free for clusters" },
] as const;
const MEMORIES = [
  { value: "0", label: "Any memory" },
  ...["16", "24", "48", "80", "141"].map((gb) => ({ value: gb, label: `${gb} GB or more` })),
] as const;

export function GpuCatalog({ tabs }: { tabs: ReactNode }) {
  const [text] = useView<string>("q", "");
  const [product] = useView<Product>("product", "POD");
  const [memory] = useView<string>("memory", "0");
  const [free] = useView("free");
  const query = { include: "AVAILABILITY" as const, product: [product] };
  const read = useRead("listGpuTypes", { query }, { keep: true, refetchInterval: AGAIN_MS });
  const rows = useMemo(
    () =>
      read.data?.gpus.filter(
        (type) =>
          type.memory >= Number(memory) &&
          (free === undefined || (type.availability ?? "NONE") !== "NONE") &&
          namesMatch(text, [type.id, type.name, type.pool]),
      ),
    [read.data, memory, free, text],
  );
  return (
    <TypesPage
      one="GPU"
      about="Hardware of this installation: memory, price by the hour, what is free now and where."
      curl={curlOf("listGpuTypes", { query })}
      tabs={tabs}
      read={read}
      rows={rows}
      model={records.gpuTypes}
      columns={own}
      filters={
        <>
          <Filter label="Free for" name="product" options={PRODUCTS} />
          <Filter label="Memory" name="memory" options={MEMORIES} />
          <Flag label="Free now" name="free" />
        </>
      }
      rowActions={({ id }) => (
        <ButtonLink to="/pods/new" search={{ gpu: id }} kind="quiet" size="small">
          Use
        </ButtonLink>
      )}
    />
  );
}
