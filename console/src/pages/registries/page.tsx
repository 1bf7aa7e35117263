/** One credential of a registry: what uses it, and how to remove it. */
import type { Registry } from "@millrace/platform/resources/registries/model.ts";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button } from "../../design/button.tsx";
import { Id } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel } from "../../design/layout.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { usersOfRegistry } from "../../parts/used-by.ts";
import { UsersPanel } from "../../parts/users.tsx";

export function RegistryPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getRegistry", { params: { id } });
  return <Loaded read={read}>{(registry) => <Shown registry={registry} />}</Loaded>;
}

function Shown({ registry }: { registry: Registry }) {
  const [isDeleting, setDeleting] = useState(false);
  const mayNot = useMayNot("registries:write");
  return (
    <Page
      title={registry.name}
      about="Credential of a registry"
      curl={curlOf("getRegistry", { params: { id: registry.id } })}
      actions={
        <>
          <AuditLink id={registry.id} />
          <Button kind="danger" refused={mayNot} onClick={() => setDeleting(true)}>
            Delete
          </Button>
        </>
      }
    >
      <Panel>
        <Facts
          rows={[
            ["ID", <Id key="id" value={registry.id} />],
            [
              "User name",
              <span key="user" className="quiet">
                Never shown
              </span>,
            ],
            [
              "Password",
              <span key="password" className="quiet">
                Never shown
              </span>,
            ],
          ]}
        />
      </Panel>
      <UsersPanel find={(known) => usersOfRegistry(registry.id, known)} none="Nothing uses it." />
      <AllFields model={resources.registries.model} record={registry} />
      <DeleteDialog
        resource={resources.registries}
        record={registry}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
      >
        Its user name and password are lost. A registry that a Pod or an endpoint uses cannot be deleted; templates that
        name <strong>{registry.name}</strong> will have no registry.
      </DeleteDialog>
    </Page>
  );
}
