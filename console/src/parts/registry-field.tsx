/** The choice of a registry by its name, for forms of what pulls an image. */
import { Link } from "@tanstack/react-router";
import { useRead } from "../api/queries.ts";
import { SelectField } from "../design/field.tsx";
import type { Special } from "../forms/schema-form.tsx";

const NONE = "";

export const registryField: Special = (field) => <RegistryField {...field} />;

function RegistryField({ value, onChange, fault, shape }: Parameters<Special>[0]) {
  const { data } = useRead("listRegistries", {});
  const chosen = typeof value === "object" && value !== null ? (value as { id: string }).id : (value as string | null);
  return (
    <SelectField
      label={shape.label}
      isOptional
      fault={fault}
      help={
        <>
          With whose user name and password the image is pulled. <Link to="/registries/new">Add a registry</Link>
        </>
      }
      value={chosen ?? NONE}
      onChange={(id) => onChange(id === NONE ? null : id)}
      options={[
        { value: NONE, label: "None: the image is public" },
        ...(data?.registries.map(({ id, name }) => ({ value: id, label: name })) ?? []),
      ]}
    />
  );
}
