/** Operations on registries and delegations. */
import type { Operations } from "../../kernel/operation.ts";
import { operationsOn } from "../../kernel/operations-on.ts";
import { Delegation, Registry } from "./model.ts";

const shared = { tag: "Registries", scope: "registries" } as const;

const on = operationsOn(Registry, "/v2/registries", { ...shared, one: "a registry", many: "registries" });

const onDelegations = operationsOn(Delegation, "/v2/registries/delegations", {
  ...shared,
  one: "a delegation",
  many: "delegations",
});

export const registryOperations = {
  listRegistries: on.find({}, { description: "Names only: no answer has user names or passwords." }),
  createRegistry: on.create({ description: "Saves a credential for pulling private images. Names are unique." }),
  getRegistry: on.get(),
  deleteRegistry: on.remove({
    description: "Refused while a Pod or an endpoint uses it. Templates that refer to it have none from then on.",
    refuses: ["rule-broken"],
  }),
  listDelegations: onDelegations.find({}),
  createDelegation: onDelegations.create({
    description:
      "Notes that a repository of ECR is meant to be opened without a password (beta). Nothing can be pulled through it here: " +
      "a pull that needs it fails, and says what to do instead.",
  }),
  revokeDelegation: onDelegations.remove({ summary: "Revoke a delegation" }),
} satisfies Operations;
