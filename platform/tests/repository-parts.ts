/** The parts of the platform, and the allowed directions of imports between them. */

/** The parts that each part may import, in addition to itself. */
export const mayImport = {
  kernel: [],
  ports: ["kernel"],
  adapters: ["kernel", "ports", "jobs"],
  jobs: ["kernel", "ports"],
  catalog: ["kernel"],
  metering: ["kernel", "ports", "catalog"],
  balancing: ["kernel"],
  machines: ["kernel", "ports", "metering", "balancing"],
  resources: ["kernel", "ports", "jobs", "catalog", "metering", "machines"],
  "resources/workers/running": ["kernel", "ports", "jobs", "catalog", "balancing", "machines", "resources"],
  "resources/pods/running": ["kernel", "ports", "machines", "resources"],
  guards: ["kernel", "ports", "resources"],
  "contract.ts": ["kernel", "ports", "jobs", "resources", "balancing"],
  surfaces: ["kernel", "ports", "jobs", "resources", "balancing", "machines", "guards", "contract.ts"],
  settings: ["kernel", "catalog", "jobs", "resources", "guards"],
  composition: [
    ...["kernel", "ports", "jobs", "catalog", "metering", "balancing", "machines"],
    ...["resources", "resources/workers/running", "resources/pods/running"],
    ...["guards", "surfaces", "settings", "adapters"],
  ],
  "main.ts": ["kernel", "ports", "machines", "adapters", "settings", "composition"],
};
