/** Creates a Pod, from a template or an image, with what it will cost beside every choice. */
import { resources } from "../../api/resources.ts";
import { useGpuCatalog } from "../../parts/compute-cards.tsx";
import { CreatePage } from "../../parts/resource-form.tsx";
import { useView } from "../../shell/view.ts";
import { computeField } from "./compute-field.tsx";
import { mountsOfPod, SPECIALS } from "./create-fields.tsx";
import { TemplateChoice, useOfficialTemplates } from "./create-start.tsx";
import { PodSummary } from "./create-summary.tsx";

const FIRST = ["name", "image", "cmd", "gpu", "mounts", "env", "ports", "disk"];

export function CreatePod() {
  // The catalog's buttons name a GPU type in the address.
  const [gpu] = useView("gpu");
  const reads = [useOfficialTemplates(), useGpuCatalog("POD")];
  return (
    <CreatePage
      isWaiting={reads.some(({ isLoading }) => isLoading)}
      resource={resources.pods}
      title="Create a Pod"
      about="A program or container that runs until you end it."
      first={FIRST}
      without={["templateId", "cpu", "args"]}
      specials={{ ...SPECIALS, gpu: computeField, mounts: mountsOfPod }}
      needed={({ templateId }) => (templateId === undefined ? ["image"] : [])}
      initial={{ gpu: gpu === undefined ? {} : { id: gpu } }}
      above={(value, change) => <TemplateChoice value={value} onChange={change} />}
      formKey={({ templateId }) => String(templateId ?? "by hand")}
      summary={(value) => <PodSummary value={value} />}
    />
  );
}
