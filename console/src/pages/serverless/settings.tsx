/** The settings of an endpoint. It says what a change does to the workers before it is saved. */

import type { Endpoint } from "@millrace/platform/resources/endpoints/model.ts";
import { useState } from "react";
import { useMayNot } from "../../api/me.ts";
import { resources } from "../../api/resources.ts";
import { endpointBoots } from "../../api/shapes.data.ts";
import { Button } from "../../design/button.tsx";
import { Facts, Panel } from "../../design/layout.tsx";
import { labelOf } from "../../forms/schema.ts";
import type { Values } from "../../forms/schema-form.tsx";
import { DeleteDialog } from "../../parts/delete-dialog.tsx";
import { EditForm } from "../../parts/resource-form.tsx";
import { computeField } from "./compute-field.tsx";
import { SPECIALS } from "./create.tsx";
import { EndpointFrame } from "./frame.tsx";
import { LostWithEndpoint } from "./lost.tsx";
import css from "./serverless.module.css";

export function EndpointSettings() {
  return <EndpointFrame>{(endpoint) => <Settings key={endpoint.id} endpoint={endpoint} />}</EndpointFrame>;
}

const FIRST = ["name", "image", "cmd", "env", "gpu", "cpu", "workers", "scaling", "timeout", "flashboot"];

function Settings({ endpoint }: { endpoint: Endpoint }) {
  const mayNot = useMayNot("serverless:write");
  const [isDeleting, setDeleting] = useState(false);
  const family = endpoint.cpu ? "cpu" : "gpu";
  if (mayNot) return <ReadOnly endpoint={endpoint} why={mayNot} />;
  return (
    <>
      <EditForm
        resource={resources.endpoints}
        record={endpoint}
        first={FIRST}
        without={[family === "gpu" ? "cpu" : "gpu", "templateId"]}
        specials={{ ...SPECIALS, [family]: computeField(family) }}
        warning={(changed) => <ReleaseWarning changed={changed} />}
      />
      <div className={css.asWideAsForm}>
        <Panel title="Delete this endpoint" about="Its settings, jobs, results and logs go with it, for good.">
          <Button kind="danger" onClick={() => setDeleting(true)}>
            <span className={css.named}>Delete {endpoint.name}</span>
          </Button>
        </Panel>
      </div>
      <DeleteDialog
        resource={resources.endpoints}
        record={endpoint}
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
      >
        <LostWithEndpoint endpoint={endpoint} />
      </DeleteDialog>
    </>
  );
}

/** Which of the changed fields reach a program only when it is started again. */
export function ReleaseWarning({ changed }: { changed: Values }) {
  const boots = endpointBoots;
  const names = Object.keys(changed);
  const anew = names.filter((name) => boots[name]);
  if (anew.length === 0) return <p className={css.note}>These changes apply at once. Workers go on as they are.</p>;
  return (
    <p className={css.warning}>
      A change of {listed(anew.map((name) => labelOf(name).toLowerCase()))} makes a new release: new workers start with
      it, and workers of the old one end when they are done with what they have. No job is lost.
    </p>
  );
}

const listed = (words: readonly string[]) => new Intl.ListFormat("en", { type: "conjunction" }).format(words);

function ReadOnly({ endpoint, why }: { endpoint: Endpoint; why: string }) {
  return (
    <Panel title="Settings" about={why}>
      <Facts
        rows={Object.entries(endpoint).map(([name, value]) => [
          labelOf(name),
          <code key={name}>{typeof value === "string" ? value : JSON.stringify(value)}</code>,
        ])}
      />
    </Panel>
  );
}
