/** Answers the REST v2 operations on registries and delegations. */
import { timestamp } from "../../kernel/clock.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { recordFrom } from "../../kernel/resource.ts";
import { Delegation, Registry } from "./model.ts";
import type { registryOperations } from "./operations.ts";
import type { DelegationItem, RegistryItem, RegistryService } from "./service.ts";

export const registryHandlers = (registries: RegistryService): Handlers<typeof registryOperations> => ({
  listRegistries: async ({ caller }) => ({ registries: (await registries.list(caller)).map(shown) }),
  createRegistry: async ({ caller, body }) => shown(await registries.create(caller, body)),
  getRegistry: async ({ caller, params }) => shown(await registries.get(caller, params.id!)),
  deleteRegistry: ({ caller, params }) => registries.remove(caller, params.id!),
  listDelegations: async ({ caller }) => ({
    delegations: (await registries.listDelegations(caller)).map(shownDelegation),
  }),
  createDelegation: async ({ caller, body }) => shownDelegation(await registries.createDelegation(caller, body)),
  revokeDelegation: ({ caller, params }) => registries.revokeDelegation(caller, params.id!),
});

const shown = ({ id, doc }: RegistryItem): Registry => recordFrom(Registry, { id, ...doc });

function shownDelegation({ id, createdAt, doc }: DelegationItem): Delegation {
  const { userId: delegatorUserId, host: dockerRegistryUri } = doc;
  return recordFrom(Delegation, {
    id,
    ...doc,
    delegatorUserId,
    dockerRegistryUri,
    createdAt: timestamp(createdAt),
  });
}
