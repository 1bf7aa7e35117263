/** Creates a secret. */
import { resources } from "../../api/resources.ts";
import { CreatePage } from "../../parts/resource-form.tsx";

export function CreateSecret() {
  return (
    <CreatePage
      resource={resources.secrets}
      title="Create a secret"
      first={["name", "value", "description"]}
      summary={({ name }) => (
        <p>
          Refer to it in an environment variable as <code>{`{{ MILLRACE_SECRET_${name || "NAME"} }}`}</code>. Programs
          get the value when they start.
        </p>
      )}
    />
  );
}
