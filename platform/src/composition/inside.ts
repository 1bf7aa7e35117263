/** The inside of a server: everything between its ports and the ways into it, created in the order of their dependencies. */
import { GoneNodes } from "../resources/installation/gone-nodes.ts";
import { ModelCare } from "../resources/models/care.ts";
import { podLogs } from "../resources/pods/logs.ts";
import { VolumeCare } from "../resources/volumes/care.ts";
import { VolumeCounts } from "../resources/volumes/counts.ts";
import type { VolumeUpkeep } from "../resources/volumes/service.ts";
import type { AppParts, AppSettings } from "./app-parts.ts";
import { type Bells, makeBells } from "./bells.ts";
import { openFront } from "./front.ts";
import { type Ground, groundOf } from "./ground.ts";
import { openJobs } from "./jobs.ts";
import { openKeeping } from "./keeping.ts";
import { openRoll, type Roll } from "./roll.ts";
import { type Around, type Books, openServices, type Services } from "./services.ts";
import { openUpkeep } from "./upkeep.ts";

export type Inside = Awaited<ReturnType<typeof openInside>>;

export async function openInside(parts: AppParts, books: Books, settings: AppSettings) {
  const ground = groundOf(parts, settings);
  const bells = makeBells();
  const roll = openRoll(ground, books, bells);
  const ofVolumes = volumeParts(ground, books, roll);
  const volumeCare = new VolumeCare(ofVolumes);
  const volumeCounts = new VolumeCounts(ofVolumes);
  const modelCare = openModelCare(ground, books, roll, bells);
  const services = await openServices(books, around(ground, bells, roll, { volumeCare, modelCare }));
  const front = openFront(ground, services);
  const jobs = openJobs(ground, services, bells, roll, front);
  const keeping = openKeeping(ground, services, bells, roll, jobs);
  const goneNodes = openGoneNodes(ground, services, roll);
  const upkeep = openUpkeep(ground, services, jobs, keeping, goneNodes);
  return { ground, roll, volumeCare, volumeCounts, modelCare, goneNodes, services, front, jobs, keeping, upkeep };
}

/** What the duties need that care for the volumes of this node's machines. */
const volumeParts = (ground: Ground, { volumeRecords, instanceRecords }: Books, { own }: Roll) => ({
  ...ground,
  machines: own,
  mountedBy: (volume: string) => instanceRecords.mounting(volume),
  records: volumeRecords,
});

function openModelCare(ground: Ground, { modelRecords, instanceRecords }: Books, roll: Roll, bells: Bells): ModelCare {
  const { own, machines, otherModels } = roll;
  return new ModelCare({
    ...{ ...ground, records: modelRecords, machines: own, node: ground.node.id },
    holds: (machine) => machines.holds.has(machine),
    openFolder: ground.openModelFolder,
    elsewhere: otherModels && ((model, machine) => otherModels(model.id, machine)),
    mountedBy: (volume) => instanceRecords.mounting(volume),
    // An endpoint that waits for a model is planned for once a second anyway.
    changed: bells.freed.ring,
  });
}

const openGoneNodes = (ground: Ground, services: Services, { known }: Roll): GoneNodes =>
  new GoneNodes({
    ...{ ...services, known, clock: ground.clock, log: ground.log, node: ground.node.id },
    // What goes through this store gets its entry of the audit log.
    store: services.parts.store,
    hours: ground.settings.nodeHours,
  });

/** What the services get from a server and report to it. */
function around(
  ground: Ground,
  bells: Bells,
  roll: Roll,
  { volumeCare, modelCare }: { volumeCare: VolumeUpkeep; modelCare: ModelCare },
): Around {
  return {
    machines: roll.machinesThere,
    runsPods: roll.isKept,
    refusesImage: ground.refusesImage ?? (async () => undefined),
    readPodLog: podLogs(ground.logs, roll.otherLogs),
    volumeUpkeep: volumeCare,
    node: ground.node.id,
    modelsChanged: () => modelCare.tend(),
    endpointChanged: bells.changed.ring,
    podChanged: (instance) => (instance ? bells.toDo.ring(instance) : bells.freed.ring()),
  };
}
