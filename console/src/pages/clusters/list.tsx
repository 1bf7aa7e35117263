/** Clusters of the account. */
import type { Cluster } from "@millrace/platform/resources/clusters/model.ts";
import { resources } from "../../api/resources.ts";
import { ResourceList } from "../../parts/resource-list.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useView } from "../../shell/view.ts";
import { columns } from "./columns.tsx";

export function ClusterList() {
  const [words, setWords] = useView<string>("find", "");
  return (
    <ResourceList<Cluster>
      resource={resources.clusters}
      title="Clusters"
      about="Pods that are placed together, know each other by rank, and share a network that nobody else reaches."
      columns={columns}
      filter={({ id, name }) => `${name} ${id}`.toLowerCase().includes(words.toLowerCase())}
      example={{
        ...{ name: "training", type: "TRAINING", image: "pytorch/pytorch" },
        compute: { gpuTypeId: "NVIDIA GeForce RTX 4090", gpuCountPerPod: 1, podCount: 2 },
      }}
      tools={<SearchField label="Name or id" value={words} onChange={setWords} />}
    />
  );
}
