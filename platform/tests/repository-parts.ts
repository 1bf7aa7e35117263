/** The parts of the platform, and which way imports between them point. */

/** Which parts of the platform a part may import, beside itself. */
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
  "contract.ts": ["ports", "jobs", "resources", "balancing"],
  surfaces: ["kernel", "ports", "jobs", "resources", "balancing", "machines", "guards", "contract.ts"],
  settings: ["kernel", "catalog", "jobs", "resources", "guards"],
  composition: [
    ...["kernel", "ports", "jobs", "catalog", "metering", "balancing", "machines"],
    ...["resources", "resources/workers/running", "resources/pods/running"],
    ...["guards", "surfaces", "settings", "adapters"],
  ],
  "main.ts": ["kernel", "ports", "machines", "adapters", "settings", "composition"],
};
