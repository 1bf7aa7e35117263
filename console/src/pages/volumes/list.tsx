/** Network volumes of the account. */
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { resources } from "../../api/resources.ts";
import { ButtonLink } from "../../design/button.tsx";
import { ResourceList } from "../../parts/resource-list.tsx";
import { columns } from "./columns.tsx";

export function VolumeList() {
  return (
    <ResourceList<NetworkVolume>
      resource={resources.volumes}
      title="Network volumes"
      about="Storage of a data center that Pods and workers share, and that outlives them."
      columns={columns}
      rowActions={({ id }) => (
        <ButtonLink to="/volumes/$id/files" params={{ id }} kind="quiet" size="small">
          Files
        </ButtonLink>
      )}
      example={{ name: "models", size: 100, dataCenter: "EU-RO-1" }}
    />
  );
}
