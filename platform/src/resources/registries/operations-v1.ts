/** Operations on registries in REST v1, which calls them registry auths. */
import { flatOperationsOn } from "../../kernel/flat-operations-on.ts";
import { type Face, flatShapes } from "../../kernel/flat-shapes.ts";
import type { Operations } from "../../kernel/operation.ts";
import { registryDialect } from "./flat.ts";
import { Registry } from "./model.ts";

const registryFace: Face = {
  called: "ContainerRegistryAuth",
  assigned: { id: Registry.record.properties.id },
  always: ["id", "name"],
};

export const registryShapes = flatShapes(Registry, registryDialect, registryFace);

const on = flatOperationsOn(registryShapes, "/v1/containerregistryauth", {
  tag: "Registries",
  scope: "registries",
  one: "a registry auth",
  many: "registry auths",
  id: "containerRegistryAuthId",
});

export const registryOperationsV1 = {
  listContainerRegistryAuths: on.list({ description: "Newest first; user names and passwords are in no answer." }),
  createContainerRegistryAuth: on.create({ description: "Names are unique." }),
  getContainerRegistryAuth: on.get(),
  deleteContainerRegistryAuth: on.remove({ refuses: ["rule-broken"] }),
} satisfies Operations;
