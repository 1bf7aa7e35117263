/** Public endpoints: those that the account may call, and its own. */
import type { PublicEndpoint } from "@millrace/platform/resources/public-endpoints/model.ts";
import { resources } from "../../api/resources.ts";
import type { Column } from "../../design/column.ts";
import { When } from "../../design/facts.tsx";
import { ResourceList } from "../../parts/resource-list.tsx";
import { priceText } from "./price.ts";

const columns: Column<PublicEndpoint>[] = [
  { id: "name", title: "Name", value: ({ name }) => name, cell: ({ name }) => <code>{name}</code> },
  { id: "title", title: "What it is", value: ({ title }) => title },
  { id: "own", title: "Shared by", value: ({ own }) => (own ? "This account" : "Another account") },
  { id: "price", title: "Price", value: priceText },
  {
    id: "createdAt",
    title: "Shared",
    value: ({ createdAt }) => createdAt,
    cell: ({ createdAt }) => <When at={createdAt} />,
  },
];

export function PublicEndpointList() {
  return (
    <ResourceList<PublicEndpoint>
      resource={resources.publicEndpoints}
      title="Public endpoints"
      about="Endpoints that accounts of this installation share with each other. Call one by its name, with your own key."
      columns={columns}
      example={{ name: "a-model", endpointId: "ENDPOINT_ID", everyone: true }}
    />
  );
}
