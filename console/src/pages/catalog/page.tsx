/** The catalog: which hardware this installation offers, what it costs, what of it is free, and where; and its models. */
import { ViewTabs } from "../../design/tabs.tsx";
import { useView } from "../../shell/view.ts";
import { CpuCatalog } from "./cpus.tsx";
import { DataCenterCatalog } from "./data-centers.tsx";
import { GpuCatalog } from "./gpus.tsx";
import { ModelCatalog } from "./models.tsx";

const TABS = [
  { value: "gpus", label: "GPUs" },
  { value: "cpus", label: "CPUs" },
  { value: "data-centers", label: "Data centers" },
  { value: "models", label: "Models" },
] as const;
type Tab = (typeof TABS)[number]["value"];
const SHOWN: Record<Tab, typeof GpuCatalog> = {
  gpus: GpuCatalog,
  cpus: CpuCatalog,
  "data-centers": DataCenterCatalog,
  models: ModelCatalog,
};

export function CatalogPage() {
  const [shown] = useView<Tab>("show", "gpus");
  const Shown = SHOWN[shown] ?? GpuCatalog;
  return <Shown tabs={<ViewTabs label="Catalog" name="show" fallback="gpus" tabs={TABS} />} />;
}
