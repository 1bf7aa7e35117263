/** Answers the REST v2 operations on the hub. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import type { Listing } from "./listing.ts";
import type { HubListing, HubListingDetails } from "./model.ts";
import type { hubOperations } from "./operations.ts";
import type { HubService } from "./service.ts";

export function hubHandlers(hub: HubService): Handlers<typeof hubOperations> {
  return {
    async listHubListings({ query }) {
      const deploys = await hub.deploys();
      return { listings: (await hub.listings(query)).map((listing) => shortForm(listing, deploys)) };
    },
    async getHubListing({ params }) {
      return wholeForm(await hub.listing(params.id!), await hub.deploys());
    },
    deployHubListing: async ({ caller, params, body }) => hub.shown(await hub.deploy(caller, params.id!, body)),
    listHubDeployments: ({ caller, query }) =>
      paged(
        "deployments",
        query,
        (asked) => hub.deployments(caller, asked),
        (shown) => shown,
      ),
    getHubDeployment: async ({ caller, params }) => hub.shown(await hub.deployment(caller, params.id!)),
    testHubDeployment: async ({ caller, params }) => hub.shown(await hub.test(caller, params.id!)),
    updateHubDeployment: async ({ caller, params }) => hub.shown(await hub.update(caller, params.id!)),
    listHubSources: async () => ({ sources: hub.sources() }),
  };
}

function shortForm(listing: Listing, deploys: ReadonlyMap<string, number>): HubListing {
  const { id, title, description, type, category, tags, owner, name, iconUrl, image, releaseId, version } = listing;
  return {
    ...{ id, title, description, type, category, tags, owner, name, iconUrl, image, releaseId, version },
    runsOn: "id" in listing.compute ? "CPU" : "GPU",
    releasedAt: timestamp(listing.releasedAt),
    tests: listing.tests.length,
    deploys: deploys.get(id) ?? 0,
  };
}

function wholeForm(listing: Listing, deploys: ReadonlyMap<string, number>): HubListingDetails {
  const { readme, endpointType, args, disk, ports, compute, fixed, variables, presets, tests } = listing;
  return {
    ...shortForm(listing, deploys),
    ...{ readme, endpointType, args, disk, ports, variables, presets, env: fixed },
    gpu: "id" in compute ? null : compute,
    cpu: "id" in compute ? compute : null,
    testNames: tests.map(({ name }) => name),
  };
}
