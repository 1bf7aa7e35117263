/** The ways from a template to what is made from it. */
import type { Template } from "@millrace/platform/resources/templates/model.ts";
import { ButtonLink } from "../../design/button.tsx";

type Size = "small" | "normal";

/** A template is for Pods or for endpoints: the other one would be refused. */
export function UseTemplate({
  template,
  size = "normal",
}: {
  template: Pick<Template, "id" | "serverless">;
  size?: Size;
}) {
  const kind = size === "small" ? "quiet" : "primary";
  const search = { template: template.id };
  return template.serverless ? (
    <ButtonLink to="/serverless/new" search={search} kind={kind} size={size}>
      Use for an endpoint
    </ButtonLink>
  ) : (
    <ButtonLink to="/pods/new" search={search} kind={kind} size={size}>
      Use for a Pod
    </ButtonLink>
  );
}
