/** Saves the credential of a registry. */
import { resources } from "../../api/resources.ts";
import { Described } from "../../design/described.tsx";
import { TextField } from "../../design/field.tsx";
import type { Special } from "../../forms/schema-form.tsx";
import { CreatePage } from "../../parts/resource-form.tsx";

/** Of one line, where Enter sends the form. In a field of several it would become a part of the password. */
const oneLine =
  (type: "text" | "password"): Special =>
  ({ value, onChange, fault, shape }) => (
    <TextField
      type={type}
      label={shape.label}
      help={<Described text={shape.schema.description ?? ""} />}
      fault={fault}
      value={(value as string | undefined) ?? ""}
      onChange={(next) => onChange(next === "" ? undefined : next)}
      autoComplete="new-password"
    />
  );
const SPECIALS = { username: oneLine("text"), password: oneLine("password") };

export function CreateRegistry() {
  return (
    <CreatePage
      resource={resources.registries}
      title="Add a registry"
      about="A user name and a password or token, with which private images are pulled."
      first={["name", "username", "password"]}
      specials={SPECIALS}
      summary={() => (
        <p>
          Choose it as the <strong>Registry</strong> of a Pod, an endpoint or a template. User name and password cannot
          be read back: to change them, add the registry again under another name.
        </p>
      )}
    />
  );
}
