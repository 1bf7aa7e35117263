/** Answers the REST v1 operations on registries. */
import type { Handlers } from "../../kernel/operation.ts";
import { type registryOperationsV1, registryShapes } from "./operations-v1.ts";
import type { RegistryItem, RegistryService } from "./service.ts";

export const registryHandlersV1 = (registries: RegistryService): Handlers<typeof registryOperationsV1> => ({
  listContainerRegistryAuths: async ({ caller }) => (await registries.list(caller)).map(shown),
  createContainerRegistryAuth: async ({ caller, body }) =>
    shown(await registries.create(caller, registryShapes.created(body))),
  getContainerRegistryAuth: async ({ caller, params }) =>
    shown(await registries.get(caller, params.containerRegistryAuthId!)),
  deleteContainerRegistryAuth: ({ caller, params }) => registries.remove(caller, params.containerRegistryAuthId!),
});

const shown = ({ id, doc }: RegistryItem) => ({ id, ...registryShapes.of(doc) });
