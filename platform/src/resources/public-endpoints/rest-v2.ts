/** Answers the REST v2 operations on public endpoints. */

import type { Caller } from "../../kernel/caller.ts";
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { PublicEndpoint } from "./model.ts";
import type { publicEndpointOperations } from "./operations.ts";
import type { PublicEndpointItem, PublicEndpointService } from "./service.ts";
import type { PublicEndpointUses } from "./uses.ts";

interface Parts {
  publicEndpoints: PublicEndpointService;
  publicEndpointUses: PublicEndpointUses;
  publicUrl: () => string;
}

export function publicEndpointHandlers(parts: Parts): Handlers<typeof publicEndpointOperations> {
  const { publicEndpoints: shared, publicEndpointUses: uses, publicUrl } = parts;
  const shown = (caller: Caller, item: PublicEndpointItem) => shownTo(caller, item, publicUrl());
  return {
    listPublicEndpoints: async ({ caller }) => ({
      publicEndpoints: (await shared.list(caller)).map((item) => shown(caller, item)),
    }),
    createPublicEndpoint: async ({ caller, body }) => shown(caller, await shared.create(caller, body)),
    getPublicEndpoint: async ({ caller, params }) => shown(caller, await shared.get(caller, params.id!)),
    updatePublicEndpoint: async ({ caller, params, body }) =>
      shown(caller, await shared.update(caller, params.id!, body)),
    deletePublicEndpoint: ({ caller, params }) => shared.remove(caller, params.id!),
    getPublicEndpointUse: async ({ caller, params, query }) =>
      uses.of(caller, await shared.owned(caller, params.id!), query),
  };
}

/** Others do not learn which endpoint it is, nor who else may call it. */
function shownTo(
  { account }: Caller,
  { id, account: owner, createdAt, doc }: PublicEndpointItem,
  url: string,
): PublicEndpoint {
  const own = owner === account;
  const { accounts, endpointId, ...open } = doc;
  const record = { id, own, requestUrl: `${url}/v2/${id}`, createdAt: timestamp(createdAt) };
  const shown = { ...record, ...open, type: open.type ?? "QUEUE", workerPerAccount: open.workerPerAccount ?? false };
  return recordFrom(PublicEndpoint, own ? { ...shown, accounts, endpointId } : shown);
}
