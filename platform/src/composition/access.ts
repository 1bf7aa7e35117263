/** The ways into running instances: shells, terminals, SSH, ports of Pods, and files by S3. */

import { OwnExecutions } from "../machines/own-executions.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import { AccountEvents } from "../resources/events/service.ts";
import { LogReaders } from "../resources/logs/readers.ts";
import { PodAddresses } from "../resources/pods/addresses.ts";
import { PortLinks } from "../resources/pods/links.ts";
import { PodViews } from "../resources/pods/view.ts";
import { Shells } from "../resources/shells.ts";
import { TerminalService } from "../resources/terminals/service.ts";
import { FileLinks } from "../resources/volume-files/links.ts";
import { VolumeFileService } from "../resources/volume-files/service.ts";
import type { VolumeStorage } from "../resources/volume-files/storage.ts";
import { WorkerService } from "../resources/workers/service.ts";
import { InstanceLink } from "../surfaces/node-link/instance-link.ts";
import { NodeLink } from "../surfaces/node-link/link.ts";
import { PodAccess } from "../surfaces/proxy/pod-access.ts";
import { PodPorts } from "../surfaces/proxy/pod-ports.ts";
import { PodProxy } from "../surfaces/proxy/pod-proxy.ts";
import { Buckets } from "../surfaces/s3/buckets.ts";
import { S3Surface } from "../surfaces/s3/s3.ts";
import { networkVolumeBuckets, podBuckets } from "../surfaces/s3/volume-buckets.ts";
import { openSshListener } from "../surfaces/ssh/open.ts";
import { Terminals } from "../surfaces/terminals/terminals.ts";
import type { Front } from "./front.ts";
import type { Ground } from "./ground.ts";
import type { Jobs } from "./jobs.ts";
import type { Keeping } from "./keeping.ts";
import type { Roll } from "./roll.ts";
import type { Services } from "./services.ts";

export type Access = ReturnType<typeof openAccess>;

export function openAccess(
  ground: Ground,
  services: Services,
  roll: Roll,
  { desk }: Jobs,
  { house, figures, portUses }: Keeping,
  { authenticator, pipeline, doorkeeper }: Front,
) {
  const { clock, log, settings } = ground;
  const { own, balancer, silentSince, node, passes, here, otherLogs, otherInstances } = roll;
  const { endpoints, instanceRecords: instances } = services;
  const { domain, sshAddress, connections } = settings;
  const workers = new WorkerService({
    ...{ ...ground, ...services, silentSince, elsewhere: otherLogs, overruns: desk.overruns },
    requests: (endpoint) => balancer.requestsOf(endpoint),
  });
  const used = (pod: string) => portUses.begin(pod);
  const executions = new OwnExecutions({ own, used, clock });
  const shells = new Shells({ ...services, workers, own: executions, elsewhere: otherInstances });
  const terminals = new TerminalService({ ...services, shells, publicUrl: () => endpoints.publicUrl() });
  const entering = { own, shells, elsewhere: otherInstances, used, sshAddress, connections };
  const ssh = openSshListener({ ...ground, ...services, ...entering });
  const podAddresses = new PodAddresses({ domain, publicUrl: () => endpoints.publicUrl() });
  const podViews = new PodViews({
    ...{ clock, silentSince, instances },
    urlOf: (pod, port) => podAddresses.urlOf(pod, port),
    sshAt: () => ssh.address,
    progressOf: (instance) => house.progressOf(instance),
    figuresOf: (instance) => figures.of(instance),
  });
  const isPublic = settings.podPorts === "public";
  const podPorts = new PodPorts({ ...services, clock, own, elsewhere: otherInstances });
  const podProxy = new PodProxy({
    ...{ pipeline, clock, domain, used },
    access: new PodAccess({ ...services, authenticator, isPublic, isTls: () => podAddresses.isTls }),
    ports: podPorts,
  });
  const storage = storageOf(ground, roll);
  const fileLinks = new FileLinks({
    ...{ ...ground, publicUrl: () => endpoints.publicUrl() },
    standing: (key) => services.terminalTickets.standing(key),
  });
  const isStanding = (key: string) => services.terminalTickets.isStanding(key);
  const logReaders = new LogReaders({ clock, most: settings.logReaders, isStanding });
  const linking = { ...ground, node: node?.id ?? "", machines: here, passes, balancer, logReaders };
  return {
    workers,
    shells,
    terminals,
    events: new AccountEvents({ ...ground, ...services, isStanding }),
    terminalSurface: new Terminals({
      ...{ ...ground, doorkeeper, terminals },
      publicUrl: () => endpoints.publicUrl(),
      origins: settings.corsOrigins,
    }),
    ssh,
    podViews,
    podPorts,
    podProxy,
    portLinks: new PortLinks({ ...services, podAddresses }),
    logReaders,
    fileLinks,
    volumeFiles: new VolumeFileService({ ...services, storage, fileLinks }),
    s3: new S3Surface({
      ...{ ...ground, doorkeeper, domain, uploadDays: settings.s3UploadDays },
      keys: services.s3Keys,
      buckets: bucketsOf(ground, services, storage),
    }),
    /** These are for other nodes, if there are any. */
    nodeLink: node && new NodeLink({ ...linking, records: services.workerRecords }),
    instanceLink: node && new InstanceLink({ node: node.id, own, executions, instances, passes, clock, log, used }),
  };
}

function storageOf(ground: Ground, { here, peers }: Roll): VolumeStorage {
  return {
    files: (volume, machine) => filesOf(ground.machines ?? [], volume, machine),
    noFiles: (machine) => {
      const holds = ({ id, compute }: OwnMachine) => (machine === null ? compute.volumes?.shared : id === machine);
      return ground.machines?.find(holds)?.compute.volumes?.noFiles;
    },
    own: here,
    async nodeOf(machine) {
      const peer = (await peers()).find(({ machines }) => machines.includes(machine));
      return peer && { id: peer.id, url: peer.url };
    },
  };
}

function bucketsOf(ground: Ground, { volumes, podRecords }: Services, storage: VolumeStorage): Buckets {
  return new Buckets([
    networkVolumeBuckets(volumes.records, storage),
    podBuckets(podRecords, storage),
    ...(ground.buckets ?? []),
  ]);
}

/** Storage that machines share is the same on all of them, so any of them will do. */
async function filesOf(machines: readonly OwnMachine[], volume: string, machine: string | null) {
  for (const { id, compute } of machines) {
    const files = machine === null || machine === id ? await compute.volumes?.files(volume) : undefined;
    if (files) return files;
  }
  return undefined;
}
