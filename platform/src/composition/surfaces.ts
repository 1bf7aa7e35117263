/** The surfaces of a server: each way in, mounted on the listeners that clients, workers and other nodes reach. */

import { GuestDoor } from "../guards/guest-door.ts";
import { InvokeLimiter } from "../guards/invoke-limits.ts";
import type { Caller } from "../kernel/caller.ts";
import { problem } from "../kernel/problem.ts";
import { AccountUsage } from "../resources/account/usage.ts";
import { AdministrationService } from "../resources/administration/service.ts";
import { CatalogService } from "../resources/catalog/service.ts";
import type { HistoryService } from "../resources/history/service.ts";
import type { GoneNodes } from "../resources/installation/gone-nodes.ts";
import { InstallationService } from "../resources/installation/service.ts";
import type { ModelCare } from "../resources/models/care.ts";
import { ProviderPeople } from "../resources/people/provider-people.ts";
import { ProviderSignIn } from "../resources/people/provider-sign-in.ts";
import { SelfService } from "../resources/people/self.ts";
import { SignInService } from "../resources/people/sign-in.ts";
import { ReleaseService } from "../resources/releases/service.ts";
import { HealthService } from "../resources/workers/health.ts";
import { ConsolePages } from "../surfaces/console/pages.ts";
import { mountFileLinks } from "../surfaces/files/link-route.ts";
import { mountGraphql } from "../surfaces/graphql/surface.ts";
import { Proxies } from "../surfaces/http/client-address.ts";
import { mountProbes, Readiness } from "../surfaces/http/probes.ts";
import type { Answering } from "../surfaces/http/reply.ts";
import { Router } from "../surfaces/http/router.ts";
import { type Ahead, HttpServer, inTurn } from "../surfaces/http/server.ts";
import { CrossOrigin } from "../surfaces/invoke/cors.ts";
import { mountInvoke } from "../surfaces/invoke/routes.ts";
import { invokeSurface } from "../surfaces/invoke/surface.ts";
import type { Metrics } from "../surfaces/metrics/metrics.ts";
import { mountMetrics } from "../surfaces/metrics/routes.ts";
import { ModelLink } from "../surfaces/node-link/model-link.ts";
import { EndpointProxy } from "../surfaces/proxy/proxy.ts";
import { restV1Resources } from "../surfaces/rest-v1/resources.ts";
import { mountRetired } from "../surfaces/rest-v1/retirement.ts";
import { mountRestV1, restV1Surface } from "../surfaces/rest-v1/routes.ts";
import { mountDocs } from "../surfaces/rest-v2/docs.ts";
import { restResources } from "../surfaces/rest-v2/resources.ts";
import { mountRestV2, restV2Surface } from "../surfaces/rest-v2/routes.ts";
import { LinkListener } from "../surfaces/worker-link/link-listener.ts";
import { mountWorkerLink } from "../surfaces/worker-link/routes.ts";
import type { Access } from "./access.ts";
import type { Front } from "./front.ts";
import type { Ground } from "./ground.ts";
import type { Hub } from "./hub.ts";
import type { Jobs } from "./jobs.ts";
import type { Keeping } from "./keeping.ts";
import type { Roll } from "./roll.ts";
import type { Services } from "./services.ts";

interface Behind {
  ground: Ground;
  services: Services;
  roll: Roll;
  jobs: Jobs;
  keeping: Keeping;
  access: Access;
  front: Front;
  history: HistoryService;
  hub: Hub;
  metrics: Metrics;
  modelCare: ModelCare;
  goneNodes: GoneNodes;
}

export function openSurfaces(behind: Behind) {
  const { ground, front, access } = behind;
  const { clock, log } = ground;
  const { doorkeeper } = front;
  const { requests } = ground.instruments;
  const invoking = openInvocation(behind);
  const { proxy, crossOrigin, unknown, mountInvocation } = invoking;
  const mountRest = restOf(behind);
  const readiness = new Readiness(ground);
  // These come first, because the hosts of a Pod and of S3 serve nothing else.
  const last = crossOrigin ? inTurn(crossOrigin.preflights, proxy) : proxy;
  const usual = inTurn(access.podProxy, inTurn(access.s3, inTurn(access.terminalSurface, last)));
  const ahead = ground.ahead ? inTurn(ground.ahead, usual) : usual;
  const router = mountRest((one) => mountProbes(one, () => readiness.isReady()));
  mountInvocation(router);
  const { certificate } = ground;
  const proxies = ground.settings.proxies && new Proxies(ground.settings.proxies);
  const parts = { clock, log, doorkeeper, router, requests, unknown, ...(proxies && { proxies }) };
  const serverWith = (first: Ahead) => new HttpServer({ ...parts, ahead: first });
  const { nodeLink, instanceLink } = access;
  const { node, passes } = behind.roll;
  const modelLink = node && new ModelLink({ node: node.id, passes, modelCare: behind.modelCare, log });
  const ofNodes = [nodeLink, instanceLink, modelLink].filter((link) => link !== undefined);
  const withNodes = ofNodes.reduce<Ahead>(inTurn, ahead);
  const http = serverWith(withNodes);
  const https = certificate && new HttpServer({ ...parts, ahead: withNodes, certificate });
  const workerLink = new LinkListener(() => serverWith(ahead), log);
  return { http, https, workerLink, readiness, proxy };
}

/** Invocation by jobs and by requests to load-balanced workers, and the worker link. */
function openInvocation(behind: Behind) {
  const { ground, services, roll, jobs, keeping, access, front } = behind;
  const { clock, queue, settings } = ground;
  const { endpoints, workerKeys } = services;
  const { pipeline, authenticator, large, doorkeeper, memory } = front;
  const { corsOrigins, domain, payloadLimits } = settings;
  const { desk } = jobs;
  const { fleet } = keeping;
  const crossOrigin = corsOrigins === undefined ? undefined : new CrossOrigin(corsOrigins, domain);
  const surface = invokeSurface(authenticator, crossOrigin && ((origin) => crossOrigin.headers(origin)));
  const whyNoWorker = fleet && ((id: string) => fleet.whyNoWorker(id));
  const { publicEndpoints } = services;
  const assertPaid = (account: string, key: string, owed: bigint) => services.spending.assertOwing(owed, account, key);
  const sharing = { publicEndpoints, guestDoor: new GuestDoor({ queue, clock, assertPaid }) };
  const proxying = { pipeline, surface, endpoints, domain, whyNoWorker };
  const proxy = new EndpointProxy({ ...ground, ...roll, ...sharing, ...proxying });
  const invoking = {
    ...{ ...jobs, pipeline, surface, queue, endpoints, clock, fleet },
    workers: access.workers,
    reader: { ...ground, large, limits: payloadLimits },
    streamStandard: settings.stream,
    staleReports: (endpoint: string) => desk.staleReports(endpoint),
    ...waitPartsOf(behind),
    limiter: invokeLimiter(ground),
    ...sharing,
  };
  const limits = { outputLimit: payloadLimits.output, largeLimit: payloadLimits.large };
  const link = { ...ground, desk, keys: workerKeys, large, doorkeeper, memory, ...limits };
  return {
    proxy,
    crossOrigin,
    unknown:
      (why: unknown): Answering =>
      (request, reply) =>
        pipeline.answer(surface, request, reply, () => Promise.reject(why)),
    mountInvocation(router: Router): void {
      mountInvoke(router, invoking);
      mountWorkerLink(router, link);
    },
  };
}

/** What explains why jobs wait. */
function waitPartsOf({ ground, services, jobs, keeping }: Behind) {
  const isApart = (id: string) => services.endpoints.apartSince(id) !== undefined;
  return { queue: ground.queue, fleet: keeping.fleet, overruns: jobs.desk.overruns, isApart };
}

/** REST v2, REST v1 and GraphQL on a router to which `first` can add routes before them. */
function restOf(behind: Behind): (first: (router: Router) => void) => Router {
  const { ground, services, roll, access, front, history, hub, metrics, goneNodes } = behind;
  const { clock, settings } = ground;
  const { pipeline, authenticator } = front;
  const { known, machinesThere } = roll;
  const { instanceRecords } = services;
  const accountUsage = new AccountUsage({ ...services, store: services.parts.store });
  const offered = {
    ...services,
    ...access,
    accountUsage,
    ...openSignIn(ground, services),
    authenticator,
    history,
    hub: hub.service,
    requestWindows: (caller: Caller) => front.limiter.windowsOf(caller),
    administration: new AdministrationService({
      ...{ ...ground, ...services, nodeId: ground.node.id, memory: front.memory, accountUsage },
      connections: () => front.doorkeeper.connections,
      accountOf: async (endpoint) => (await services.endpoints.find(endpoint))?.account,
    }),
    publicUrl: () => services.endpoints.publicUrl(),
    installation: new InstallationService({
      ...services,
      known,
      goneNodes,
      duties: ground.duties,
      node: ground.node.id,
    }),
    releases: new ReleaseService({ ...services, ...access }),
    endpointHealth: new HealthService({ ...services, ...access, ...waitPartsOf(behind) }),
    catalog: new CatalogService({ clock, machines: machinesThere, instances: () => instanceRecords.all() }),
  };
  const surface = restV2Surface(authenticator, settings.publicUrl);
  const surfaceV1 = restV1Surface(authenticator);
  const resources = [...restResources(offered), ...(ground.resources ?? [])];
  const v1 = settings.restV1 !== "off" && restV1Resources(offered);
  const graphql = {
    ...{ pipeline, authenticator, clock, services: offered },
    introspection: settings.graphqlIntrospection === "on",
    fault: (error: unknown) => pipeline.noteFault(error),
  };
  const pages = ground.consoleFolder ? new ConsolePages({ folder: ground.consoleFolder, log: ground.log }) : undefined;
  const invalidPath = problem("unreadable", "The request path is not valid.");
  const badPath: Answering = (request, reply) =>
    pipeline.refuse(request.url.startsWith("/v1/") ? surfaceV1 : surface, invalidPath, request, reply);
  return (first) => {
    const router = new Router({ badPath });
    first(router);
    mountDocs(router, { restV1: v1 !== false });
    mountGraphql(router, graphql);
    mountFileLinks(router, { pipeline, surface, ...access });
    mountMetrics(router, {
      pipeline,
      surface,
      metrics,
      clock,
      isFirst: (account) => services.accounts.isFirst(account),
    });
    mountRestV2(router, { pipeline, surface, resources, publicUrl: settings.publicUrl, pages });
    if (v1) mountRestV1(router, { pipeline, surface: surfaceV1, resources: v1 });
    else mountRetired(router);
    return router;
  };
}

/** Opens sign-in. It writes through the services' own store, so that audit entries are in the same commit. */
function openSignIn({ passwords, limits, signOn, settings }: Ground, services: Services) {
  const { store, clock, random } = services.parts;
  const takesPasswords = settings.passwordSignIn !== "off";
  const parts = {
    ...services,
    store,
    clock,
    random,
    passwords,
    limits,
    takesPasswords,
    hasProvider: signOn !== undefined,
  };
  const signIn = new SignInService(parts);
  const refuseUnlessPasswords = () => signIn.refuseUnlessPasswords();
  const self = new SelfService({ ...parts, attempts: signIn.attempts, refuseUnlessPasswords });
  const people = signOn && new ProviderPeople({ ...parts, newPeople: signOn.newPeople });
  const { publicUrl } = settings;
  const providerSignIn = people && new ProviderSignIn({ ...parts, ...signOn, people, signIn, publicUrl });
  return { signIn, self, providerSignIn, takesPasswords };
}

function invokeLimiter({ clock, queue, settings: { invokeLimits: policy } }: Ground): InvokeLimiter | undefined {
  const facts = async (endpoint: string) => {
    const [{ inQueue }, workers] = await Promise.all([queue.counts(endpoint), queue.holders(endpoint)]);
    return { inQueue, workers: workers.length };
  };
  return policy && new InvokeLimiter({ policy, clock, facts });
}
