/** The choice of the endpoint to share, by its name. */
import { Link } from "@tanstack/react-router";
import { useRead } from "../../api/queries.ts";
import { SelectField } from "../../design/field.tsx";
import type { Special } from "../../forms/schema-form.tsx";

export const pickEndpoint: Special = (field) => <EndpointField {...field} />;

function EndpointField({ value, onChange, fault }: Parameters<Special>[0]) {
  const { data } = useRead("listEndpoints", {});
  return (
    <SelectField
      label="Endpoint"
      fault={fault}
      help={
        <>
          Others call it by the name below. Your own calls stay the same.{" "}
          <Link to="/serverless/new">Create an endpoint</Link>
        </>
      }
      value={typeof value === "string" ? value : ""}
      onChange={onChange}
      options={[
        { value: "", label: data?.endpoints.length === 0 ? "There is no endpoint yet" : "Choose an endpoint" },
        ...(data?.endpoints.map(({ id, name }) => ({ value: id, label: name, about: id })) ?? []),
      ]}
    />
  );
}
