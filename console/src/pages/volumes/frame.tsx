/** What all pages of one volume share: its head, its tabs, and the way to delete it. */
import type { NetworkVolume } from "@millrace/platform/resources/volumes/model.ts";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button } from "../../design/button.tsx";
import { Loaded, Page } from "../../design/layout.tsx";
import { TabLinks } from "../../design/tabs.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";

export function VolumeFrame({ curl, children }: { curl?: string; children: (volume: NetworkVolume) => ReactNode }) {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getNetworkVolume", { params: { id } });
  return (
    <Loaded read={read}>
      {(volume) => (
        <Frame volume={volume} curl={curl ?? curlOf("getNetworkVolume", { params: { id } })}>
          {children(volume)}
        </Frame>
      )}
    </Loaded>
  );
}

function Frame({ volume, curl, children }: { volume: NetworkVolume; curl: string; children: ReactNode }) {
  const [isDeleting, setDeleting] = useState(false);
  const mayNot = useMayNot("network-volumes:write");
  const params = { id: volume.id };
  return (
    <Page
      title={volume.name}
      about={`Network volume of ${volume.size} GB in ${volume.dataCenter}`}
      curl={curl}
      tabs={
        <TabLinks
          label="Volume"
          tabs={[
            { label: "Overview", to: "/volumes/$id", params },
            { label: "Files", to: "/volumes/$id/files", params },
            { label: "S3 access", to: "/volumes/$id/s3", params },
          ]}
        />
      }
      actions={
        <>
          <AuditLink id={volume.id} />
          <Button kind="danger" refused={mayNot} onClick={() => setDeleting(true)}>
            Delete
          </Button>
        </>
      }
    >
      {children}
      <DeleteDialog resource={resources.volumes} record={volume} isOpen={isDeleting} onClose={() => setDeleting(false)}>
        Every file on <strong>{volume.name}</strong> is lost, and no copy is kept. A volume that a Pod or an endpoint
        uses cannot be deleted.
      </DeleteDialog>
    </Page>
  );
}
