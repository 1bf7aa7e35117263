/** One template: what it runs, its text, what can be made from it, and its settings where it is the account's own. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import { send } from "../../api/client.ts";
import { curlOf } from "../../api/curl.ts";
import { useMayNot } from "../../api/me.ts";
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Button, ButtonLink } from "../../design/button.tsx";
import { Id } from "../../design/facts.tsx";
import { Facts, Loaded, Page, Panel } from "../../design/layout.tsx";
import { AllFields } from "../../parts/all-fields.tsx";
import { AuditLink } from "../../parts/audit-link.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { FIRST, SPECIALS } from "./form.tsx";
import css from "./templates.module.css";
import { UseTemplate } from "./use.tsx";

export function TemplatePage() {
  const { id } = useParams({ strict: false }) as { id: string };
  const read = useRead("getTemplate", { params: { id } });
  return <Loaded read={read}>{(template) => <Shown template={template} />}</Loaded>;
}

/** Templates of others can be read by id too, and the record does not say whose it is. */
function useIsOwn(id: string): boolean {
  const { data } = useRead("listTemplates", {});
  return data?.templates.some((template) => template.id === id) ?? false;
}

function Shown({ template }: { template: Template }) {
  const [isDeleting, setDeleting] = useState(false);
  const isOwn = useIsOwn(template.id);
  const mayNot = useMayNot("templates:write");
  return (
    <Page
      title={template.name}
      about={`Template for ${template.serverless ? "endpoints" : "Pods"}${isOwn ? "" : ", shared with every account"}`}
      curl={curlOf("getTemplate", { params: { id: template.id } })}
      actions={
        <>
          {isOwn && <AuditLink id={template.id} />}
          {!mayNot && (
            <ButtonLink to="/templates/new" search={{ from: template.id }}>
              Duplicate
            </ButtonLink>
          )}
          {isOwn && (
            <Button kind="danger" refused={mayNot} onClick={() => setDeleting(true)}>
              Delete
            </Button>
          )}
          <UseTemplate template={template} />
        </>
      }
    >
      <Panel>
        <Facts rows={factsOf(template)} />
      </Panel>
      <Readme id={template.id} />
      {isOwn && !mayNot && (
        <EditForm resource={resources.templates} record={template} first={FIRST} specials={SPECIALS} />
      )}
      <AllFields model={resources.templates.model} record={template} />
      <DeleteDialog
        resource={resources.templates}
        record={template}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
      >
        The settings of <strong>{template.name}</strong> are lost. A template is not deleted while an endpoint or a Pod
        that was made from it is there.
      </DeleteDialog>
    </Page>
  );
}

function factsOf({ id, image, args, entrypoint, cmd, ports, disk, category, env, mounts }: Template) {
  const command = args || [...entrypoint, ...cmd].join(" ");
  const variables = Object.keys(env);
  return [
    ["Image", <code key="image">{image}</code>],
    ["Runs", command === "" ? "What the image says" : <code key="command">{command}</code>],
    ["Hardware", category],
    ["Disk", `${disk} GB`],
    mounts.persistent && (["Keeps", `${mounts.persistent.size} GB at ${mounts.persistent.path}`] as const),
    ["Ports", ports.length === 0 ? "None" : <code key="ports">{ports.join(", ")}</code>],
    ["Variables", variables.length === 0 ? "None" : <code key="env">{variables.join(", ")}</code>],
    ["ID", <Id key="id" value={id} />],
  ] as const;
}

/** REST v1 alone has the text for people. It is shown as it was written: nothing in it is taken for HTML. */
function Readme({ id }: { id: string }) {
  const { data } = useQuery({
    queryKey: ["readme", id],
    queryFn: async ({ signal }) => {
      const answer = await send(`/v1/templates/${encodeURIComponent(id)}`, { method: "GET", signal });
      return ((await answer.json()) as { readme?: string }).readme ?? "";
    },
    retry: false,
  });
  if (!data) return null;
  return (
    <Panel title="Read me">
      <p className={css.readme}>{data}</p>
    </Panel>
  );
}
