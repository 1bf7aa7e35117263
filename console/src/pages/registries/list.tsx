/** Registries of the account: credentials for private images, and delegations of repositories. */
import type { Registry } from "@millrace/platform/resources/registries/model.ts";
import { resources } from "../../api/resources.ts";
import { ViewTabs } from "../../design/tabs.tsx";
import { ResourceList } from "../../parts/resource-list.tsx";
import { useView } from "../../shell/view.ts";
import { columns } from "./columns.tsx";
import { DelegationList } from "./delegations.tsx";

export function RegistryList() {
  const [shown] = useView<"credentials" | "delegations">("show", "credentials");
  return shown === "delegations" ? <DelegationList tabs={tabs} /> : <CredentialList />;
}

const tabs = (
  <ViewTabs
    label="Kinds of registries"
    name="show"
    fallback="credentials"
    tabs={[
      { value: "credentials", label: "Credentials" },
      { value: "delegations", label: "Delegations" },
    ]}
  />
);

function CredentialList() {
  return (
    <ResourceList<Registry>
      resource={resources.registries}
      title="Registries"
      about="User names and passwords for pulling private images. No answer of the API ever shows them."
      columns={columns}
      tabs={tabs}
      example={{ name: "ghcr", username: "ada", password: "…" }}
    />
  );
}
