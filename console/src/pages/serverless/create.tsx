/** Creates an endpoint, from a template or by hand, with what it will cost beside every choice. */
import { resources } from "../../api/resources.ts";
import type { Values } from "../../forms/schema-form.tsx";
import { useGpuCatalog } from "../../parts/compute-cards.tsx";
import { envField } from "../../parts/env-field.tsx";
import { pickDataCenters, pickVolumes } from "../../parts/pickers.tsx";
import { registryField } from "../../parts/registry-field.tsx";
import { CreatePage } from "../../parts/resource-form.tsx";
import { computeField } from "./compute-field.tsx";
import { Start, usePublicTemplates } from "./create-start.tsx";
import { CostSummary } from "./create-summary.tsx";

export const SPECIALS = {
  env: envField,
  registry: registryField,
  networkVolumes: pickVolumes,
  dataCenterIds: pickDataCenters,
};

const FIRST = ["name", "image", "cmd", "env", "gpu", "workers", "scaling"];
const INITIAL: Values = { type: "QUEUE", gpu: {}, workers: { min: 0, max: 3 } };

export function CreateEndpoint() {
  const reads = [...usePublicTemplates(), useGpuCatalog("SERVERLESS")];
  return (
    <CreatePage
      isWaiting={reads.some(({ isLoading }) => isLoading)}
      resource={resources.endpoints}
      title="Create an endpoint"
      about="Workers start when work comes, and end when there is none."
      first={FIRST}
      without={["type", "templateId", "cpu"]}
      specials={{ ...SPECIALS, gpu: computeField() }}
      needed={({ templateId }) => (templateId === undefined ? ["name", "image"] : [])}
      initial={INITIAL}
      above={(value, change) => <Start value={value} onChange={change} />}
      formKey={({ templateId }) => String(templateId ?? "by hand")}
      summary={(value) => <CostSummary value={value} />}
    />
  );
}
