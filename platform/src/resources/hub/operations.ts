/** Operations on the hub: find a listing, deploy it, and see whether what was deployed works. */
import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { oneOf, t } from "../../kernel/schema.ts";
import {
  DeployHubListingRequest,
  HubDeployment,
  HubListing,
  HubListingDetails,
  HubSource,
  listingTypes,
} from "./model.ts";

const common = { tag: "Hub", narrowed: "refused" } as const;
const word = (description: string) => t.Optional(t.String({ maxLength: 191, description }));

export const hubOperations = {
  listHubListings: {
    ...common,
    method: "GET",
    path: "/v2/hub/listings",
    summary: "List what can be deployed",
    description: "By title. The listings of the installation's hub, which its operator chooses.",
    status: 200,
    scope: "catalog:read",
    query: t.Object({
      search: word("Text that is in the title, the description, the owner, the name or a tag."),
      category: word("Only this category."),
      type: t.Optional(oneOf(listingTypes, { description: "Only these." })),
      owner: word("Only those of this owner."),
    }),
    out: t.Object({ listings: t.Array(HubListing) }),
  },
  getHubListing: {
    ...common,
    method: "GET",
    path: "/v2/hub/listings/{id}",
    summary: "Get a listing",
    description: "With its variables, presets and readme.",
    status: 200,
    scope: "catalog:read",
    out: HubListingDetails,
  },
  deployHubListing: {
    ...common,
    method: "POST",
    path: "/v2/hub/listings/{id}/deploy",
    summary: "Deploy a listing",
    description:
      "Makes an endpoint, or a Pod, which needs `pods:write` too. The values of variables are checked first. Then the listing's tests run on it, " +
      "if the key has `serverless:invoke`; their outcome is in the deployment.",
    resource: "hub-deployments",
    status: 201,
    scope: "serverless:write",
    in: DeployHubListingRequest,
    isBodyOptional: true,
    out: HubDeployment,
    refuses: ["no-capacity", "unpaid", "over-quota"],
  },
  listHubDeployments: {
    ...common,
    method: "GET",
    path: "/v2/hub/deployments",
    summary: "List what was deployed from the hub",
    description: "Newest first. Endpoints and Pods of the account that still exist.",
    status: 200,
    scope: "serverless:read",
    query: t.Object(pageQuery),
    out: t.Object({ deployments: t.Array(HubDeployment), pagination: Pagination }),
  },
  getHubDeployment: {
    ...common,
    method: "GET",
    path: "/v2/hub/deployments/{id}",
    summary: "Get a deployment",
    description: "By the id of its endpoint or Pod. It says how the tests went, and why one waits.",
    status: 200,
    scope: "serverless:read",
    out: HubDeployment,
  },
  testHubDeployment: {
    ...common,
    method: "POST",
    path: "/v2/hub/deployments/{id}/test",
    summary: "Test a deployment again",
    description: "Runs the tests of its release. Their jobs cost what jobs cost.",
    resource: "hub-deployments",
    status: 200,
    scope: "serverless:write",
    alsoNeeds: "serverless:invoke",
    out: HubDeployment,
    refuses: ["wrong-state", "rule-broken"],
  },
  updateHubDeployment: {
    ...common,
    method: "POST",
    path: "/v2/hub/deployments/{id}/update",
    summary: "Bring a deployment to the newest release",
    description:
      "Gives the endpoint or Pod the image, the start command and the new variables of the release that the listing has now. Variables that it " +
      "has keep their values. Then the tests run again.",
    resource: "hub-deployments",
    status: 200,
    scope: "serverless:write",
    out: HubDeployment,
    refuses: ["wrong-state", "rule-broken"],
  },
  listHubSources: {
    ...common,
    method: "GET",
    path: "/v2/hub/sources",
    summary: "See where listings come from",
    description: "What was read, what could not be used, and why. Of the node that answers.",
    status: 200,
    scope: "account:read",
    who: "installation",
    out: t.Object({ sources: t.Array(HubSource) }),
  },
} as const satisfies Operations;
