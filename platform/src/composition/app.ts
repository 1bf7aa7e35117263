/** The application: all parts of a server on top of its ports, created in the order of their dependencies. */
import type { Balancer } from "../balancing/balancer.ts";
import type { Engine } from "../jobs/engine.ts";
import { named } from "../kernel/failed.ts";
import { loadValidation } from "../kernel/validate.ts";
import type { Machines } from "../machines/machines.ts";
import type { Shells } from "../resources/shells.ts";
import { closeServer, type HttpServer } from "../surfaces/http/server.ts";
import type { Metrics } from "../surfaces/metrics/metrics.ts";
import type { SshListener } from "../surfaces/ssh/listener.ts";
import type { LinkListener } from "../surfaces/worker-link/link-listener.ts";
import { openAccess } from "./access.ts";
import type { AppParts, AppSettings } from "./app-parts.ts";
import { openHistory } from "./history.ts";
import { openHub } from "./hub.ts";
import { openInside } from "./inside.ts";
import { untilNoticed } from "./leaving.ts";
import { openMetrics } from "./metrics.ts";
import type { Books, Services } from "./services.ts";
import { openSurfaces } from "./surfaces.ts";

export type { AppParts, AppSettings } from "./app-parts.ts";

export interface App extends AsyncDisposable {
  http: HttpServer;
  /** Answers as `http` does, by TLS; absent without a certificate. */
  https: HttpServer | undefined;
  /** Serves addresses that only workers reach: the worker link and the public API, but nothing that is meant for other nodes. */
  workerLink: LinkListener;
  /** Workers can reach the server now, so from now on instances are kept and new ones are planned. */
  start(): void;
  /** Whether any machine runs Pods, here or on another node. */
  runsPods: boolean;
  machines: Machines;
  services: Services;
  engine: Engine;
  balancer: Balancer;
  /** Programs that people run in Pods and workers, whichever surface they use. */
  shells: Shells;
  /** Listens once it gets an address. */
  ssh: SshListener;
  metrics: Metrics;
}

export async function createApp(parts: AppParts, books: Books, settings: AppSettings): Promise<App> {
  // This is done now, so that the first request does not wait for it.
  loadValidation();
  const inside = await openInside(parts, books, settings);
  const { ground, roll, services, front, jobs, keeping, volumeCare, volumeCounts, modelCare, goneNodes, upkeep } =
    inside;
  const access = openAccess(ground, services, roll, jobs, keeping, front);
  const { recorder, history } = openHistory(ground, services, jobs, keeping, access, roll);
  const hub = openHub(ground, services, jobs, keeping, access);
  const metrics = openMetrics(ground, services, roll, jobs, keeping, access, front);
  const surfaces = openSurfaces({
    ground,
    services,
    roll,
    jobs,
    keeping,
    access,
    front,
    history,
    hub,
    metrics,
    modelCare,
    goneNodes,
  });
  return {
    http: surfaces.http,
    https: surfaces.https,
    workerLink: surfaces.workerLink,
    start: () => keeping.start(),
    runsPods: roll.isKept,
    machines: roll.machines,
    services,
    engine: jobs.engine,
    balancer: roll.balancer,
    shells: access.shells,
    ssh: access.ssh,
    metrics,
    async [Symbol.asyncDispose]() {
      const { readiness, proxy, http, https, workerLink } = surfaces;
      readiness.close();
      await untilNoticed({ clock: parts.clock, leaveS: settings.leaveS, peers: roll.peers });
      // First no more jobs are handed out and nobody is kept waiting. Then workers end, then open requests, then everything else.
      jobs.desk.close();
      roll.balancer.close();
      proxy.close();
      access.podProxy.close();
      await Promise.all([access.terminalSurface, access.ssh].map((surface) => surface[Symbol.asyncDispose]()));
      await keeping.close();
      access.nodeLink?.close();
      access.instanceLink?.close();
      jobs.streams.close();
      front.pipeline.endStreams();
      await access.events[Symbol.asyncDispose]();
      await jobs.engine[Symbol.asyncDispose]();
      workerLink.close();
      await Promise.all([http, https, workerLink.server].map((server) => server && closeServer(server, parts.clock)));
      await front.doorkeeper[Symbol.asyncDispose]();
      roll.balancer[Symbol.dispose]();
      const { webhooks, progress, sweeper } = jobs;
      for (const duty of [
        hub.proofs,
        hub.shelf,
        recorder,
        volumeCounts,
        volumeCare,
        modelCare,
        ...upkeep,
        webhooks,
        progress,
        sweeper,
      ])
        await duty[Symbol.asyncDispose]();
      await ground.leases.giveAway().catch(named(ground.failed, "give duties away"));
      metrics[Symbol.dispose]();
      await front.authenticator[Symbol.asyncDispose]();
      await front.large[Symbol.asyncDispose]();
    },
  };
}
