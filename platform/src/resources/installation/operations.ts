/** Operations on nodes and machines. Only the owner of the installation may use them. */

import type { Operations } from "../../kernel/operation.ts";
import { Pagination, pageQuery } from "../../kernel/page.ts";
import { closed, oneOf, t } from "../../kernel/schema.ts";
import { Duty, InstallationMachine, InstallationNode, MachineInstance, machineActions } from "./model.ts";

const common = { tag: "Installation", status: 200, narrowed: "refused", who: "installation" } as const;
const reads = { ...common, method: "GET", scope: "account:read" } as const;
const lists = { ...reads, query: t.Object(pageQuery) } as const;

export const installationOperations = {
  listInstallationNodes: {
    ...lists,
    path: "/v2/installation/nodes",
    summary: "List nodes",
    description: "Newest first. Servers on the same database, including silent ones.",
    out: t.Object({ nodes: t.Array(InstallationNode), pagination: Pagination }),
  },
  deleteInstallationNode: {
    ...common,
    method: "DELETE",
    path: "/v2/installation/nodes/{id}",
    status: 204,
    summary: "Remove a node that is gone",
    description:
      "For a node that never comes back, with its machine. Refused while it is heard of, and while its machine still has Pods, volumes or " +
      "the only copy of a model. A node without them goes by itself after `MILLRACE_NODE_HOURS`.",
    scope: "account:write",
    refuses: ["rule-broken", "wrong-state"],
  },
  listDuties: {
    ...reads,
    path: "/v2/installation/duties",
    summary: "List background duties",
    description:
      "By name. What the node that answers does again and again, how the last run ended and why one failed. " +
      "Work that follows an event is listed once it failed.",
    out: t.Object({ duties: t.Array(Duty) }),
  },
  listInstallationMachines: {
    ...lists,
    path: "/v2/installation/machines",
    summary: "List machines",
    description: "Newest first. What they have, what of that is free, and what runs there.",
    out: t.Object({ machines: t.Array(InstallationMachine), pagination: Pagination }),
  },
  listMachineInstances: {
    ...lists,
    path: "/v2/installation/machines/{id}/instances",
    summary: "List what runs on a machine",
    description: "Newest first. Of a machine that is being drained, each that stays says why.",
    out: t.Object({ instances: t.Array(MachineInstance), pagination: Pagination }),
  },
  machineAction: {
    ...common,
    method: "POST",
    path: "/v2/installation/machines/{id}/action",
    summary: "Drain a machine, or take that back",
    description:
      "`drain`: nothing new is placed there, workers end after their jobs and are replaced elsewhere, and Pods that give way are stopped. " +
      "`undrain`: it gets work again. Each may be repeated.",
    scope: "account:write",
    in: closed({ action: oneOf(machineActions) }),
    out: InstallationMachine,
  },
} as const satisfies Operations;
