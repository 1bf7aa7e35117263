/** Creates a template, from nothing or from another one. */
import { useRead } from "../../api/queries.ts";
import { resources } from "../../api/resources.ts";
import { Loaded } from "../../design/layout.tsx";
import type { Values } from "../../forms/schema-form.tsx";
import { registryField } from "../../parts/registry-field.tsx";
import { CreatePage } from "../../parts/resource-form.tsx";
import { useView } from "../../shell/view.ts";
import { copyOf } from "./copy.ts";

/** What is shown at once in forms of templates. */
export const FIRST = ["name", "image", "serverless", "category", "args", "env", "ports", "disk"];
export const SPECIALS = { registry: registryField };

export function CreateTemplate() {
  const [from] = useView("from");
  return from === undefined ? <Form initial={{}} /> : <Copied from={from} />;
}

function Copied({ from }: { from: string }) {
  const read = useRead("getTemplate", { params: { id: from } });
  return <Loaded read={read}>{(template) => <Form initial={copyOf(template)} />}</Loaded>;
}

function Form({ initial }: { initial: Values }) {
  return (
    <CreatePage
      resource={resources.templates}
      title="Create a template"
      about="An image with its settings, to make Pods or endpoints from."
      first={FIRST}
      specials={SPECIALS}
      initial={initial}
      summary={({ serverless, public: isPublic }) => (
        <p>
          {serverless ? "Endpoints" : "Pods"} are made from it. Each gets a copy of these settings, and a later change
          of the template does not reach it.{" "}
          {isPublic ? "Every account can read and use it." : "Only this account sees it."}
        </p>
      )}
    />
  );
}
