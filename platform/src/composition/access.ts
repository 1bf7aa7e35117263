/** How people and programs get into what runs: shells, terminals, SSH, ports of Pods, and files by S3. */

import { OwnExecutions } from "../machines/own-executions.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import { AccountEvents } from "../resources/events/service.ts";
import { LogReaders } from "../resources/logs/readers.ts";
import { PodAddresses } from "../resources/pods/addresses.ts";
import { PortLinks } from "../resources/pods/links.ts";
import { PodViews } from "../resources/pods/view.ts";
import { Shells } from "../resources/shells.ts";
import { TerminalService } from "../resources/terminals/service.ts";
import { WorkerService } from "../resources/workers/service.ts";
import { InstanceLink } from "../surfaces/node-link/instance-link.ts";
import { NodeLink } from "../surfaces/node-link/link.ts";
import { PodAccess } from "../surfaces/proxy/pod-access.ts";
import { PodPorts } from "../surfaces/proxy/pod-ports.ts";
import { PodProxy } from "../surfaces/proxy/pod-proxy.ts";
import { Buckets } from "../surfaces/s3/buckets.ts";
import { S3Surface } from "../surfaces/s3/s3.ts";
import { networkVolumeBuckets, podBuckets, type Storage } from "../surfaces/s3/volume-buckets.ts";
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
  const podProxy = new PodProxy({
    ...{ pipeline, clock, domain, used },
    access: new PodAccess({ ...services, authenticator, isPublic, isTls: () => podAddresses.isTls }),
    ports: new PodPorts({ ...services, clock, own, elsewhere: otherInstances }),
  });
  const logReaders = new LogReaders({ clock, most: settings.logReaders });
  const linking = { ...ground, node: node?.id ?? "", machines: here, passes, balancer, logReaders };
  return {
    workers,
    shells,
    terminals,
    events: new AccountEvents({ ...ground, ...services, isStanding: (key) => terminals.isStanding(key) }),
    terminalSurface: new Terminals({ ...ground, doorkeeper, terminals }),
    ssh,
    podViews,
    podProxy,
    portLinks: new PortLinks({ ...services, podAddresses }),
    logReaders,
    s3: new S3Surface({
      ...{ ...ground, doorkeeper, domain },
      keys: services.s3Keys,
      buckets: bucketsOf(ground, services, roll),
    }),
    /** For other nodes, where there are any. */
    nodeLink: node && new NodeLink({ ...linking, records: services.workerRecords }),
    instanceLink: node && new InstanceLink({ node: node.id, own, executions, instances, passes, log, used }),
  };
}

function bucketsOf(ground: Ground, { volumes, podRecords }: Services, { here, peers }: Roll): Buckets {
  const storage: Storage = {
    files: (volume, machine) => filesOf(ground.machines ?? [], volume, machine),
    own: here,
    async nodeOf(machine) {
      const peer = (await peers()).find(({ machines }) => machines.includes(machine));
      return peer && `${peer.id} (${peer.url})`;
    },
  };
  return new Buckets([
    networkVolumeBuckets(volumes.records, storage),
    podBuckets(podRecords, storage),
    ...(ground.buckets ?? []),
  ]);
}

/** Storage that machines share is the same on each of them. */
async function filesOf(machines: readonly OwnMachine[], volume: string, machine: string | null) {
  for (const { id, compute } of machines) {
    const files = machine === null || machine === id ? await compute.volumes?.files(volume) : undefined;
    if (files) return files;
  }
  return undefined;
}
