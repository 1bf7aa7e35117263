/** The application over its ports: services, guards and surfaces wired together, with no adapter named. */

import { Balancer } from "../balancing/balancer.ts";
import { Authenticator } from "../guards/authenticate.ts";
import { InvokeLimiter } from "../guards/invoke-limits.ts";
import { RateLimiter } from "../guards/rate-limit.ts";
import { Engine } from "../jobs/engine.ts";
import { Outputs } from "../jobs/outputs.ts";
import { recordPieces } from "../jobs/record.ts";
import { Streams } from "../jobs/stream.ts";
import { Sweeper } from "../jobs/sweeper.ts";
import { Webhooks } from "../jobs/webhooks.ts";
import { WorkerDesk } from "../jobs/worker-desk.ts";
import { every } from "../kernel/background.ts";
import { Duties } from "../kernel/duties.ts";
import { named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import { problem } from "../kernel/problem.ts";
import { Room } from "../kernel/room.ts";
import { loadValidation } from "../kernel/validate.ts";
import { OwnExecutions } from "../machines/own-executions.ts";
import type { SilentSince } from "../machines/silences.ts";
import { openPods } from "../pods/open.ts";
import type { Pods } from "../pods/pods.ts";
import { PortUses } from "../pods/port-uses.ts";
import { AuditSweeper } from "../resources/audit/sweeper.ts";
import { BatchProgress } from "../resources/batches/progress.ts";
import { BatchService } from "../resources/batches/service.ts";
import { Repricing } from "../resources/billing/repricing.ts";
import { CatalogService } from "../resources/catalog/service.ts";
import { InstallationService } from "../resources/installation/service.ts";
import { LogReaders } from "../resources/logs/readers.ts";
import { PodAddresses } from "../resources/pods/addresses.ts";
import { PortLinks } from "../resources/pods/links.ts";
import { podLogs } from "../resources/pods/logs.ts";
import { PodViews } from "../resources/pods/view.ts";
import { ReleaseService } from "../resources/releases/service.ts";
import { endpointRemovers } from "../resources/removers.ts";
import { Shells } from "../resources/shells.ts";
import { SpendNotices } from "../resources/spending/notices.ts";
import { TerminalService } from "../resources/terminals/service.ts";
import { keepVolumes } from "../resources/volumes/keeper.ts";
import { WORKER_LOGS } from "../resources/workers/model.ts";
import { WorkerService } from "../resources/workers/service.ts";
import { mountGraphql } from "../surfaces/graphql/surface.ts";
import { bodyMemory } from "../surfaces/http/body-memory.ts";
import { Doorkeeper } from "../surfaces/http/doorkeeper.ts";
import { Pipeline } from "../surfaces/http/pipeline.ts";
import { mountProbes, Readiness } from "../surfaces/http/probes.ts";
import type { Answering } from "../surfaces/http/reply.ts";
import { Router } from "../surfaces/http/router.ts";
import { type Ahead, closeServer, HttpServer, inTurn } from "../surfaces/http/server.ts";
import { CrossOrigin } from "../surfaces/invoke/cors.ts";
import { LargeJson } from "../surfaces/invoke/large-json.ts";
import { mountInvoke } from "../surfaces/invoke/routes.ts";
import { invokeSurface } from "../surfaces/invoke/surface.ts";
import { NodeCalls } from "../surfaces/node-link/calls.ts";
import { InstanceLink } from "../surfaces/node-link/instance-link.ts";
import { NodeLink } from "../surfaces/node-link/link.ts";
import { OtherInstances } from "../surfaces/node-link/other-instances.ts";
import { OtherLogs } from "../surfaces/node-link/other-logs.ts";
import { NodePasses } from "../surfaces/node-link/pass.ts";
import { PodAccess } from "../surfaces/proxy/pod-access.ts";
import { PodPorts } from "../surfaces/proxy/pod-ports.ts";
import { PodProxy } from "../surfaces/proxy/pod-proxy.ts";
import { EndpointProxy } from "../surfaces/proxy/proxy.ts";
import { restV1Resources } from "../surfaces/rest-v1/resources.ts";
import { mountRetired } from "../surfaces/rest-v1/retirement.ts";
import { mountRestV1, restV1Surface } from "../surfaces/rest-v1/routes.ts";
import { mountDocs } from "../surfaces/rest-v2/docs.ts";
import { restResources } from "../surfaces/rest-v2/resources.ts";
import { mountRestV2, restV2Surface } from "../surfaces/rest-v2/routes.ts";
import { Buckets } from "../surfaces/s3/buckets.ts";
import { S3Surface } from "../surfaces/s3/s3.ts";
import { networkVolumeBuckets, podBuckets, type Storage } from "../surfaces/s3/volume-buckets.ts";
import type { SshListener } from "../surfaces/ssh/listener.ts";
import { openSshListener } from "../surfaces/ssh/open.ts";
import { Terminals } from "../surfaces/terminals/terminals.ts";
import { LinkListener } from "../surfaces/worker-link/link-listener.ts";
import { mountWorkerLink } from "../surfaces/worker-link/routes.ts";
import type { Fleet, FleetParts } from "../workers/fleet.ts";
import { createFleet, eventsFor, warmUpsOf } from "./app-fleet.ts";
import { type AppParts, type AppSettings, identityIn, leaseOf } from "./app-parts.ts";
import type { Services } from "./services.ts";

export type { AppParts, AppSettings } from "./app-parts.ts";

export interface App extends AsyncDisposable {
  http: HttpServer;
  /** For addresses that only workers reach: the worker link and the public API, and nothing that nodes have for each other. */
  workerLink: LinkListener;
  engine: Engine;
  /** Starts nothing before it is told to, once workers can reach the server. */
  fleet: Fleet | undefined;
  /** The same for Pods. */
  pods: Pods | undefined;
  balancer: Balancer;
  /** Programs that people run in Pods and workers, for whatever surface lets them in. */
  shells: Shells;
  /** Listens once it is told where. */
  ssh: SshListener;
}

export function createApp(parts: AppParts, services: Services, settings: AppSettings): App {
  // Now, so that the first request does not wait for it.
  loadValidation();
  const { clock, log, logs, queue } = parts;
  const { payloadLimits } = settings;
  const { duties = new Duties(parts) } = parts;
  const { failed } = duties;
  const authenticator = new Authenticator({ ...parts, failed, ...services });
  const { rateLimits: policy, anonymousLimits: anonymous } = settings;
  const limiter = new RateLimiter({ ...parts, policy, anonymous });
  const doorkeeper = new Doorkeeper({ clock, failed, most: settings.connections });
  const { room = new Room({ clock, bytes: bodyMemory(settings.bodiesMb, payloadLimits) }) } = parts;
  const large = new LargeJson();
  const { audit } = services;
  audit.onFailure(failed);
  const pipeline = new Pipeline({ ...parts, limiter, audit, doorkeeper, room, large });
  const engine = new Engine({ ...parts, failed, wanted: (endpoint) => fleet?.wanted(endpoint) });
  const told = { events: eventsFor(() => fleet), warmUps: warmUpsOf(() => fleet) };
  const desk = new WorkerDesk({ ...parts, ...told, failed, waiters: engine.waiters });
  const balancer = new Balancer({ clock });
  const frozen = { forMs: settings.frozenS * 1000, memoryMb: settings.frozenMb };
  const passes = new NodePasses(parts);
  const calls = new NodeCalls({ clock, passes });
  const reach: FleetParts["reach"] = (peer, endpoint, worker) => calls.dial(peer, endpoint, worker);
  const makeRoom: FleetParts["makeRoom"] = async (need, whom) => pods?.makeRoom(need, whom);
  const fleet = createFleet(parts, services, { desk, balancer, failed, frozen, reach, makeRoom });
  const silentSince: SilentSince = (machine) => fleet?.machines.silences.since(machine);
  const portUses = new PortUses(clock);
  const portUsedAt = (pod: string) => portUses.usedAt(pod);
  const pods = fleet && openPods({ ...parts, ...services, fleet, failed, portUsedAt, mine: leaseOf("pods", parts) });
  const sweeper = new Sweeper({ queue, engine, clock, failed, mine: leaseOf("sweeper", parts) });
  const auditSweeper = new AuditSweeper({
    ...{ ...parts, failed, days: settings.auditDays ?? 90, mine: leaseOf("audit", parts) },
  });
  const spendNotices = new SpendNotices({
    ...{ ...parts, failed, ...services, secret: settings.webhookSecret, mine: leaseOf("spending", parts) },
  });
  const records = services.batchRecords;
  const progress = new BatchProgress({ queue, engine, clock, failed, records, mine: leaseOf("batches", parts) });
  const batches = new BatchService({ ...parts, engine, records, progress });
  const { endpoints, workerKeys } = services;
  for (const service of [endpoints, services.pods, services.templates])
    if (parts.refusesImage) service.refuseImages(parts.refusesImage);
  const podAddresses = new PodAddresses({ domain: settings.domain, publicUrl: () => endpoints.publicUrl() });
  const portLinks = new PortLinks({ ...services, podAddresses });
  const podViews = new PodViews({
    clock,
    silentSince,
    instances: services.instanceRecords,
    urlOf: (pod, port) => podAddresses.urlOf(pod, port),
    sshAt: () => ssh.address,
    progressOf: (instance) => pods?.progressOf(instance),
    figuresOf: (instance) => pods?.figures.of(instance),
  });
  endpoints.onChange((id) => fleet?.endpointChanged(id));
  services.removals.register("endpoint", endpointRemovers({ ...services, workers: fleet, jobs: engine, logs }));
  const machinesThere = async () => (await fleet?.roll())?.machines ?? [];
  const volumeKeeper = keepVolumes({ ...parts, ...services, failed, machinesThere });
  const requests = (endpoint: string) => balancer.requestsOf(endpoint);
  const node = identityIn(parts);
  const ownMachines = (parts.machines ?? []).map(({ id }) => id);
  const peers = async () => (await fleet?.roll())?.peers ?? [];
  const elsewhere = node && new OtherLogs({ here: ownMachines, calls, peers });
  services.pods.readLogsWith(podLogs(logs, elsewhere));
  const logReaders = new LogReaders({ clock, most: settings.logReaders });
  const overruns = desk.overruns;
  const workers = new WorkerService({ ...parts, ...services, requests, elsewhere, overruns, silentSince });
  const expiring = every(
    clock,
    { name: "expire logs", everyMs: HOUR_MS },
    (now) => logs.expire(WORKER_LOGS, now - settings.logDays * DAY_MS),
    failed,
  );
  const removing = every(
    clock,
    { name: "finish removals", everyMs: FINISH_REMOVALS_MS },
    () => services.removals.finishAll(),
    failed,
  );
  floating(removing.soon(), named(failed, "finish removals"));
  const repricing = new Repricing({ ...parts, ...services, failed, mine: leaseOf("prices", parts) });

  const rest = restV2Surface(authenticator);
  const invalidPath = problem("unreadable", "The request path is not valid.");
  const restV1 = restV1Surface(authenticator);
  const badPath: Answering = (request, reply) =>
    pipeline.refuse(request.url.startsWith("/v1/") ? restV1 : rest, invalidPath, request, reply);
  const { corsOrigins, domain } = settings;
  const crossOrigin = corsOrigins === undefined ? undefined : new CrossOrigin(corsOrigins, domain);
  const invoke = invokeSurface(authenticator, crossOrigin && ((origin) => crossOrigin.headers(origin)));
  const unknown = (why: unknown): Answering => {
    return (request, reply) => pipeline.answer(invoke, request, reply, () => Promise.reject(why));
  };
  const proxy = new EndpointProxy({
    ...parts,
    pipeline,
    surface: invoke,
    endpoints,
    balancer,
    domain,
  });
  const nodeLink =
    node &&
    new NodeLink({
      ...parts,
      node: node.id,
      machines: ownMachines,
      passes,
      balancer,
      logReaders,
      records: services.workerRecords,
    });
  const { instanceRecords: instances } = services;
  const own = parts.machines ?? [];
  const used = (pod: string) => portUses.begin(pod);
  const executions = new OwnExecutions({ own, used, clock });
  const otherInstances = node && new OtherInstances({ calls, peers });
  const shells = new Shells({ ...services, workers, own: executions, elsewhere: otherInstances });
  const terminals = new TerminalService({ ...services, shells, publicUrl: () => endpoints.publicUrl() });
  const terminalSurface = new Terminals({ clock, log, failed, doorkeeper, terminals });
  const { sshAddress, connections } = settings;
  const sshAround = { own, shells, elsewhere: otherInstances, used, sshAddress, connections, failed };
  const ssh = openSshListener({ ...parts, ...services, ...sshAround });
  const instanceLink = node && new InstanceLink({ node: node.id, own, executions, instances, passes, log, used });
  const isPublic = settings.podPorts === "public";
  const podProxy = new PodProxy({
    ...{ pipeline, clock, domain, used },
    access: new PodAccess({ ...services, authenticator, isPublic, isTls: () => podAddresses.isTls }),
    ports: new PodPorts({ ...services, clock, own, elsewhere: otherInstances }),
  });
  const storage: Storage = {
    files: parts.volumeFiles ?? (async () => undefined),
    own: ownMachines,
    async nodeOf(machine) {
      const peer = (await peers()).find(({ machines }) => machines.includes(machine));
      return peer && `${peer.id} (${peer.url})`;
    },
  };
  const buckets = new Buckets([
    networkVolumeBuckets(services.volumes.records, storage),
    podBuckets(services.podRecords, storage),
    ...(parts.buckets ?? []),
  ]);
  const s3 = new S3Surface({ ...parts, doorkeeper, keys: services.s3Keys, buckets, domain });
  // First: on the hosts of a Pod and of S3 nothing else is served.
  const ahead = inTurn(
    podProxy,
    inTurn(s3, inTurn(terminalSurface, crossOrigin ? inTurn(crossOrigin.preflights, proxy) : proxy)),
  );
  const reader = { ...parts, large, limits: payloadLimits };
  const outputs = new Outputs({ ...parts, engine, urlOf: (endpoint) => endpoints.urlOf(endpoint) });
  const streams = new Streams({ ...parts, engine, outputs, readOutput: (result, ask) => large.output(result, ask) });
  const webhooks = new Webhooks({
    ...parts,
    failed,
    room,
    secret: settings.webhookSecret,
    record: (reading) => recordPieces({ ...reading, link: outputs.link(reading.job) }),
    findInput: (body, endpoint) => large.input(body, endpoint),
    accountOf: async (endpoint) => (await endpoints.find(endpoint))?.account,
    mine: leaseOf("webhooks", parts),
  });
  const releases = new ReleaseService({ ...services, workers });
  const catalog = new CatalogService({
    clock,
    machines: machinesThere,
    instances: () => instances.all(),
  });
  const known = async () => {
    // Looked at first: who is silent is known from then on.
    await fleet?.roll();
    return (await fleet?.machines.known()) ?? { nodes: [], machines: [] };
  };
  const installation = new InstallationService({ ...services, known, duties, node: parts.node.id });
  const offered = {
    ...services,
    installation,
    podViews,
    portLinks,
    logReaders,
    workers,
    terminals,
    releases,
    catalog,
    authenticator,
  };
  const resources = [...restResources(offered), ...(parts.resources ?? [])];
  const v1 = settings.restV1 !== "off" && restV1Resources(offered);
  const restV2 = { pipeline, surface: rest, resources, publicUrl: settings.publicUrl };
  const graphql = {
    ...{ pipeline, authenticator, clock, services: offered },
    introspection: settings.graphqlIntrospection === "on",
    fault: (error: unknown) => pipeline.noteFault(error),
  };
  const invoking = {
    pipeline,
    surface: invoke,
    engine,
    queue,
    endpoints,
    workers,
    batches,
    reader,
    streams,
    outputs,
    streamStandard: settings.stream,
    staleReports: (endpoint: string) => desk.staleReports(endpoint),
    clock,
    limiter: invokeLimiter(parts, settings),
    fleet,
  };
  const readiness = new Readiness(parts);
  const limits = { outputLimit: payloadLimits.output, largeLimit: payloadLimits.large };
  const link = { ...parts, desk, keys: workerKeys, large, doorkeeper, room, ...limits };
  const serverWith = (first: Ahead): HttpServer => {
    const router = new Router({ badPath });
    mountProbes(router, () => readiness.isReady());
    mountDocs(router, { restV1: v1 !== false });
    mountGraphql(router, graphql);
    mountRestV2(router, restV2);
    if (v1) mountRestV1(router, { pipeline, surface: restV1, resources: v1 });
    else mountRetired(router);
    mountInvoke(router, invoking);
    mountWorkerLink(router, link);
    return new HttpServer({ clock, log, doorkeeper, router, unknown, ahead: first });
  };
  const http = serverWith(nodeLink && instanceLink ? inTurn(inTurn(ahead, nodeLink), instanceLink) : ahead);
  const workerLink = new LinkListener(() => serverWith(ahead), log);
  return {
    http,
    workerLink,
    engine,
    fleet,
    pods,
    balancer,
    shells,
    ssh,
    async [Symbol.asyncDispose]() {
      // Nothing new is handed out and nobody is kept waiting, then workers end, then requests in flight, then all else.
      readiness.close();
      desk.close();
      balancer.close();
      proxy.close();
      podProxy.close();
      await Promise.all([terminalSurface, ssh].map((surface) => surface[Symbol.asyncDispose]()));
      await Promise.all([fleet?.close(), pods?.close()]);
      nodeLink?.close();
      instanceLink?.close();
      streams.close();
      pipeline.endStreams();
      await engine[Symbol.asyncDispose]();
      workerLink.close();
      await Promise.all([http, workerLink.server].map((server) => server && closeServer(server, clock)));
      await doorkeeper[Symbol.asyncDispose]();
      balancer[Symbol.dispose]();
      await volumeKeeper[Symbol.asyncDispose]();
      await repricing[Symbol.asyncDispose]();
      await removing[Symbol.asyncDispose]();
      await expiring[Symbol.asyncDispose]();
      await webhooks[Symbol.asyncDispose]();
      await progress[Symbol.asyncDispose]();
      await sweeper[Symbol.asyncDispose]();
      await auditSweeper[Symbol.asyncDispose]();
      await spendNotices[Symbol.asyncDispose]();
      await authenticator[Symbol.asyncDispose]();
      await large[Symbol.asyncDispose]();
    },
  };
}

/** How soon the jobs of an account deleted from the command line are gone. */
const FINISH_REMOVALS_MS = 5000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function invokeLimiter({ clock, queue }: AppParts, { invokeLimits: policy }: AppSettings): InvokeLimiter | undefined {
  const facts = async (endpoint: string) => {
    const [{ inQueue }, workers] = await Promise.all([queue.counts(endpoint), queue.holders(endpoint)]);
    return { inQueue, workers: workers.length };
  };
  return policy && new InvokeLimiter({ policy, clock, facts });
}
