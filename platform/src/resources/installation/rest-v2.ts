/** Answers the REST v2 operations on nodes and machines. */
import { timestamp } from "../../kernel/clock.ts";
import type { DutyStanding } from "../../kernel/duties.ts";
import type { Handlers } from "../../kernel/operation.ts";
import { paged } from "../../kernel/paged.ts";
import type { Box } from "../../ports/compute/compute.ts";
import type { Duty, InstallationMachine, InstallationNode, MachineInstance } from "./model.ts";
import type { installationOperations } from "./operations.ts";
import type { InstallationService, Occupant, SeenMachine, SeenNode } from "./service.ts";

export const installationHandlers = (service: InstallationService): Handlers<typeof installationOperations> => ({
  listInstallationNodes: ({ query }) => paged("nodes", query, (asked) => service.nodes(asked), shownNode),
  async deleteInstallationNode({ params }) {
    await service.removeNode(params.id!);
  },
  listDuties: async () => ({ duties: service.duties().map((duty) => shownDuty(service.node, duty)) }),
  listInstallationMachines: ({ query }) => paged("machines", query, (asked) => service.machines(asked), shownMachine),
  listMachineInstances: ({ params, query }) =>
    paged(
      "instances",
      { ...query, machine: params.id },
      (asked) => service.instances(params.id!, asked),
      shownInstance,
    ),
  machineAction: async ({ params, body }) => shownMachine(await service.act(params.id!, body.action)),
});

const at = (ms: number | undefined) => (ms === undefined ? null : timestamp(ms));

const shownNode = ({ id, seenAt, silence, clockAheadMs, version, url, ...more }: SeenNode): InstallationNode => ({
  ...{ id, state: silence ? "SILENT" : "UP", silentSince: at(silence?.since), lastSeenAt: timestamp(seenAt) },
  clockAhead: clockAheadMs === undefined ? null : clockAheadMs / 1000,
  ...{ version: version ?? null, url: url ?? null, machines: [...more.machines], stays: more.stays ?? null },
});

const shownDuty = (node: string, { everyMs, running, last, lastError, ...duty }: DutyStanding): Duty => ({
  ...{ name: duty.name, node, every: everyMs === undefined ? null : everyMs / 1000 },
  ...{ runs: duty.runs, running: running !== undefined, runningSince: at(running?.since) },
  overdue: running?.isOverdue === true,
  ...{ lastResult: last ? (last.isGood ? "GOOD" : "FAILED") : lastError ? "FAILED" : null },
  ...{ lastRunAt: at(last?.at), lastTook: last ? Math.round(last.tookMs) : null },
  ...{ failuresInRow: duty.failuresInRow, lastError: lastError?.text ?? null, lastErrorAt: at(lastError?.at) },
});

function shownMachine({ machine, state, drainingSince, free, occupants, pods, workers }: SeenMachine) {
  const { id, node, silence, dataCenter, runs = [], away = {}, boxes } = machine;
  return {
    ...{ id, node: node || null, state, silentSince: at(silence?.since), drainingSince: at(drainingSince) },
    ...{ dataCenterId: dataCenter, runs: [...runs] },
    away: Object.entries(away).map(([images, { why }]) => ({ images, reason: why })),
    capacity: sumOf(boxes, (box, type) => box.gpus.find((stock) => stock.type === type)!.count),
    free: sumOf(
      free.map(({ box, ...left }) => ({ ...box, vcpu: left.vcpu, memoryMb: left.memoryMb, diskGb: left.diskGb })),
      (box, type) => free.find((one) => one.box.id === box.id)?.gpus.get(type) ?? 0,
    ),
    ...{ pods, workers, instances: occupants.map(shownInstance) },
  } satisfies InstallationMachine;
}

const shownInstance = ({ item: { id, account, doc }, stays }: Occupant): MachineInstance => ({
  ...{ id, kind: doc.kind, owner: doc.owner, account, state: doc.state, stays: stays ?? null },
});

const MB_PER_GB = 1024;

function sumOf(boxes: readonly Box[], countOf: (box: Box, type: string) => number): InstallationMachine["capacity"] {
  const sum = (amount: (box: Box) => number) => boxes.reduce((total, box) => total + Math.max(0, amount(box)), 0);
  const gpus = new Map<string, { id: string; count: number; virtual: boolean }>();
  for (const box of boxes) {
    for (const { type, virtual } of box.gpus) {
      const count = (gpus.get(type)?.count ?? 0) + Math.max(0, countOf(box, type));
      gpus.set(type, { id: type, count, virtual });
    }
  }
  return {
    vcpuCount: sum(({ vcpu }) => vcpu),
    memory: Math.floor(sum(({ memoryMb }) => memoryMb) / MB_PER_GB),
    disk: Math.floor(sum(({ diskGb }) => diskGb)),
    gpus: [...gpus.values()],
  };
}
