/** Nodes and machines of an installation, as its owner sees them. */
import { dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

const nodeStates = ["UP", "SILENT"] as const;
const machineStates = ["UP", "SILENT", "DRAINING", "DRAINED"] as const;
export type MachineState = (typeof machineStates)[number];
export const machineActions = ["drain", "undrain"] as const;
export type MachineAction = (typeof machineActions)[number];

const silentSince = nullable(dateTime("When it was last heard of; null while it is heard of."));

export const InstallationNode = t.Object(
  {
    id: t.String({ description: "Unique node identifier." }),
    state: oneOf(nodeStates, { description: "`SILENT`: it has not reported for 15 s." }),
    silentSince,
    lastSeenAt: dateTime("When it last spoke, by its own clock."),
    clockAhead: nullable(
      t.Number({
        description:
          "Seconds by which its clock was ahead of the database's when it last spoke, negative if behind; null where it is not known, and with SQLite.",
      }),
    ),
    version: nullable(t.String({ description: "Of the program; null where an earlier release wrote it." })),
    url: nullable(t.String({ description: "Where other nodes reach it." })),
    machines: t.Array(t.String(), { description: "Ids of the machines that it runs." }),
    stays: nullable(
      t.String({
        description:
          "What a silent node still has, so that it stays in the list; null while it is heard of, or if it goes by itself.",
      }),
    ),
  },
  { $id: "InstallationNode" },
);
export type InstallationNode = Static<typeof InstallationNode>;

const dutyResults = ["GOOD", "FAILED"] as const;

export const Duty = t.Object(
  {
    name: t.String({ description: "What is done, unique on its node." }),
    node: t.String({ description: "Id of the node that does it: the one that answers." }),
    every: nullable(t.Number({ description: "Seconds between two runs; null for work that follows an event." })),
    runs: t.Integer({ description: "Runs since the node started. Work that follows an event is not counted." }),
    running: t.Boolean({ description: "Whether it runs right now." }),
    runningSince: nullable(dateTime("When the run in progress began; null between two runs.")),
    overdue: t.Boolean({ description: "Whether the run in progress takes longer than it should, as one that hangs." }),
    lastResult: nullable(oneOf(dutyResults, { description: "How the last run ended; null before the first end." })),
    lastRunAt: nullable(dateTime("When the last run ended.")),
    lastTook: nullable(t.Number({ description: "How long the last run took, in milliseconds." })),
    failuresInRow: t.Integer({ description: "Failures since the last good run." }),
    lastError: nullable(
      t.String({ description: "Why it last failed, also when it ran well since; null if it never did." }),
    ),
    lastErrorAt: nullable(dateTime("When that was.")),
  },
  { $id: "Duty" },
);
export type Duty = Static<typeof Duty>;

const amount = (description: string) => t.Number({ description });

const capacity = t.Object({
  vcpuCount: amount("vCPUs."),
  memory: amount("GB of memory."),
  disk: amount("GB of disk."),
  gpus: t.Array(t.Object({ id: t.String(), count: t.Integer(), virtual: t.Boolean() })),
});

export const MachineInstance = t.Object(
  {
    id: t.String({ description: "Unique instance identifier." }),
    kind: oneOf(["pod", "worker", "member"]),
    owner: t.String({ description: "Id of the Pod or the endpoint that it runs for." }),
    account: t.String({ description: "Id of the account whose it is." }),
    state: t.String({ description: "By the lifecycle of its kind, as its record says it." }),
    stays: nullable(
      t.String({ description: "Why it stays on a machine that is being drained; null where it does not, or none is." }),
    ),
  },
  { $id: "MachineInstance" },
);
export type MachineInstance = Static<typeof MachineInstance>;

/** A listing shows this many instances with their machine. All of them are in pages of their own. */
export const SHOWN_INSTANCES = 100;

export const InstallationMachine = t.Object(
  {
    id: t.String({ description: "Unique machine identifier." }),
    node: nullable(t.String({ description: "Id of the node that runs it." })),
    state: oneOf(machineStates, {
      description:
        "`SILENT`: its node has not reported for 15 s. `DRAINING`: nothing new is placed there. `DRAINED`: and nothing is left there.",
    }),
    silentSince,
    drainingSince: nullable(dateTime("When its draining began; null while it is not drained.")),
    dataCenterId: t.String(),
    runs: t.Array(t.String(), { description: "What images it runs; empty for any." }),
    away: t.Array(t.Object({ images: t.String({ description: "`host` or `container`." }), reason: t.String() }), {
      description: "What images it cannot run now, such as containers without their engine. Others get them.",
    }),
    capacity,
    free: {
      ...capacity,
      description: "What is free of that. For a machine with virtual GPUs, only those are counted.",
    },
    pods: t.Integer({ description: "Instances of Pods that are there." }),
    workers: t.Integer({ description: "Workers that are there." }),
    instances: t.Array(MachineInstance, {
      description: `The newest ${SHOWN_INSTANCES} of them. All are in \`/v2/installation/machines/{id}/instances\`.`,
    }),
  },
  { $id: "InstallationMachine" },
);
export type InstallationMachine = Static<typeof InstallationMachine>;
