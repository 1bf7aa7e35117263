/** One secret: what it is for, how to use it, and how to give it a new value. */
import type { Secret } from "@millrace/platform/resources/secrets/model.ts";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button } from "../../design/button.tsx";
import { Code } from "../../design/code.tsx";
import { Id, When } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel } from "../../design/layout.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { EditForm } from "../../parts/resource-form.tsx";

export function SecretPage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getSecret", { params: { id } });
  return <Loaded read={read}>{(secret) => <Shown secret={secret} />}</Loaded>;
}

function Shown({ secret }: { secret: Secret }) {
  const [isDeleting, setDeleting] = useState(false);
  const mayNot = useMayNot("secrets:write");
  return (
    <Page
      title={secret.name}
      about={secret.description ?? "Secret"}
      curl={curlOf("getSecret", { params: { id: secret.id } })}
      actions={
        <Button kind="danger" refused={mayNot} onClick={() => setDeleting(true)}>
          Delete
        </Button>
      }
    >
      <Panel>
        <Facts
          rows={[
            ["ID", <Id key="id" value={secret.id} />],
            ["Value set", <When key="set" at={secret.valueLastUpdatedAt} />],
            ["Created", <When key="created" at={secret.createdAt} />],
          ]}
        />
      </Panel>
      <Panel title="Use it" about="As the value of an environment variable of a Pod, an endpoint or a template.">
        <Code text={`{{ MILLRACE_SECRET_${secret.name} }}`} />
      </Panel>
      {!mayNot && <EditForm resource={resources.secrets} record={secret} first={["value", "description"]} />}
      <AllFields model={resources.secrets.model} record={secret} />
      <DeleteDialog resource={resources.secrets} record={secret} isOpen={isDeleting} onClose={() => setDeleting(false)}>
        Environment variables that refer to <strong>{secret.name}</strong> will no longer resolve when a program starts
        next. The value cannot be read back.
      </DeleteDialog>
    </Page>
  );
}
