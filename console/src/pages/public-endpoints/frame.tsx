/** The frame of a public endpoint's pages: what it is, whose it is, what it costs, and the tabs. */
import type { PublicEndpoint } from "@millrace/platform/resources/public-endpoints/model.ts";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Id } from "../../design/facts.tsx";
import { Loaded, Page } from "../../design/layout.tsx";
import { TabLinks } from "../../design/tabs.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import css from "./public-endpoints.module.css";

interface FrameProps {
  /** The call that made the tab, as curl; of the public endpoint itself by default. */
  curl?: string;
  children: (shared: PublicEndpoint) => ReactNode;
}

export function PublicEndpointFrame({ curl, children }: FrameProps) {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getPublicEndpoint", { params: { id } });
  return (
    <Loaded read={read}>
      {(shared) => (
        <Page
          title={shared.title || shared.name}
          about={
            <span className={css.about}>
              <Id value={shared.name} />
              <span>{shared.own ? "Shared by this account" : "Shared by another account"}</span>
            </span>
          }
          curl={curl ?? curlOf("getPublicEndpoint", { params: { id } })}
          actions={shared.own && <OwnActions shared={shared} />}
          tabs={<Tabs shared={shared} />}
        >
          {children(shared)}
        </Page>
      )}
    </Loaded>
  );
}

function OwnActions({ shared }: { shared: PublicEndpoint }) {
  const [isEnding, setEnding] = useState(false);
  const mayNot = useMayNot("serverless:write");
  return (
    <>
      <ButtonLink to="/serverless/$id" params={{ id: shared.endpointId ?? "" }}>
        Open the endpoint
      </ButtonLink>
      <Button kind="danger" refused={mayNot} onClick={() => setEnding(true)}>
        Stop sharing
      </Button>
      <DeleteDialog
        resource={resources.publicEndpoints}
        record={shared}
        isOpen={isEnding}
        onClose={() => setEnding(false)}
      >
        Other accounts can no longer call <strong>{shared.name}</strong>, and no longer read their jobs there. The
        endpoint stays.
      </DeleteDialog>
    </>
  );
}

function Tabs({ shared: { name, own, type } }: { shared: PublicEndpoint }) {
  const params = { id: name };
  return (
    <TabLinks
      label="Of this public endpoint"
      tabs={[
        { label: "Overview", to: "/public-endpoints/$id", params },
        { label: "Try it", to: "/public-endpoints/$id/try", params },
        // One that balances load has no queue, and so no jobs.
        ...(type === "QUEUE"
          ? [{ label: own ? "Jobs" : "Your jobs", to: "/public-endpoints/$id/jobs", params } as const]
          : []),
        ...(own ? [{ label: "Settings", to: "/public-endpoints/$id/settings", params } as const] : []),
      ]}
    />
  );
}
