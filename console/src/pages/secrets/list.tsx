/** Secrets of the account. */
import type { Secret } from "@millrace/platform/resources/secrets/model.ts";
import { resources } from "../../api/resources.ts";
import { ResourceList } from "../../parts/resource-list.tsx";
import { columns } from "./columns.tsx";

export function SecretList() {
  return (
    <ResourceList<Secret>
      resource={resources.secrets}
      title="Secrets"
      about="Encrypted text that environment variables refer to by name. No answer of the API ever shows a value."
      columns={columns}
      example={{ name: "HF_TOKEN", value: "…" }}
    />
  );
}
