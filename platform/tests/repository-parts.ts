/** The parts of the platform, and which way imports between them point. */

const rules = [
  "kernel",
  "ports",
  "jobs",
  "catalog",
  "metering",
  "resources",
  "balancing",
  "machines",
  "resources/workers/running",
  "resources/pods/running",
  "guards",
];
/** Which parts of the platform a part may import, beside itself. */
export const mayImport = {
  kernel: [],
  ports: ["kernel"],
  adapters: ["kernel", "ports", "jobs"],
  jobs: ["kernel", "ports"],
  catalog: ["kernel"],
  metering: ["kernel", "ports", "catalog"],
  balancing: ["kernel", "ports"],
  machines: ["kernel", "ports", "catalog", "metering", "balancing"],
  resources: ["kernel", "ports", "jobs", "catalog", "metering", "machines"],
  "resources/workers/running": [
    ...["kernel", "ports", "jobs", "catalog", "metering", "balancing", "machines", "resources"],
  ],
  "resources/pods/running": ["kernel", "ports", "metering", "machines", "resources"],
  guards: ["kernel", "ports", "resources"],
  "contract.ts": ["kernel", "jobs", "resources", "balancing"],
  surfaces: ["kernel", "ports", "jobs", "resources", "balancing", "machines", "guards", "contract.ts"],
  settings: ["kernel", "catalog", "jobs", "resources", "guards", "surfaces"],
  composition: [...rules, "contract.ts", "surfaces", "settings", "adapters"],
  "main.ts": [...rules, "adapters", "settings", "composition"],
};
