/** The application: all parts of a server over its ports, made in the order in which they depend on each other. */
import type { Balancer } from "../balancing/balancer.ts";
import type { Engine } from "../jobs/engine.ts";
import { loadValidation } from "../kernel/validate.ts";
import type { Machines } from "../machines/machines.ts";
import type { Shells } from "../resources/shells.ts";
import { closeServer, type HttpServer } from "../surfaces/http/server.ts";
import type { SshListener } from "../surfaces/ssh/listener.ts";
import type { LinkListener } from "../surfaces/worker-link/link-listener.ts";
import { openAccess } from "./access.ts";
import type { AppParts, AppSettings } from "./app-parts.ts";
import { makeBells } from "./bells.ts";
import { openFront } from "./front.ts";
import { groundOf } from "./ground.ts";
import { openJobs } from "./jobs.ts";
import { openKeeping } from "./keeping.ts";
import { openRoll } from "./roll.ts";
import type { Services } from "./services.ts";
import { openSurfaces } from "./surfaces.ts";
import { openUpkeep } from "./upkeep.ts";

export type { AppParts, AppSettings } from "./app-parts.ts";

export interface App extends AsyncDisposable {
  http: HttpServer;
  /** For addresses that only workers reach: the worker link and the public API, and nothing that nodes have for each other. */
  workerLink: LinkListener;
  /** Workers can reach the server: instances are kept, and more are planned, from now on. */
  start(): void;
  /** Whether anything runs Pods, here or on another node. */
  runsPods: boolean;
  machines: Machines;
  engine: Engine;
  balancer: Balancer;
  /** Programs that people run in Pods and workers, for whatever surface lets them in. */
  shells: Shells;
  /** Listens once it is told where. */
  ssh: SshListener;
}

export function createApp(parts: AppParts, services: Services, settings: AppSettings): App {
  // Now, so that the first request does not wait for it.
  loadValidation();
  const ground = groundOf(parts, settings);
  const bells = makeBells();
  const roll = openRoll(ground, services, bells);
  const front = openFront(ground, services);
  const jobs = openJobs(ground, services, bells, roll, front);
  const keeping = openKeeping(ground, services, bells, roll, jobs);
  const upkeep = openUpkeep(ground, services, roll, jobs, keeping);
  const access = openAccess(ground, services, roll, jobs, keeping, front);
  const surfaces = openSurfaces({ ground, services, roll, jobs, keeping, access, front });
  return {
    http: surfaces.http,
    workerLink: surfaces.workerLink,
    start: () => keeping.start(),
    runsPods: roll.isKept,
    machines: roll.machines,
    engine: jobs.engine,
    balancer: roll.balancer,
    shells: access.shells,
    ssh: access.ssh,
    async [Symbol.asyncDispose]() {
      const { readiness, proxy, http, workerLink } = surfaces;
      // Nothing new is handed out and nobody is kept waiting, then workers end, then requests in flight, then all else.
      readiness.close();
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
      await jobs.engine[Symbol.asyncDispose]();
      workerLink.close();
      await Promise.all([http, workerLink.server].map((server) => server && closeServer(server, parts.clock)));
      await front.doorkeeper[Symbol.asyncDispose]();
      roll.balancer[Symbol.dispose]();
      const { webhooks, progress, sweeper } = jobs;
      for (const duty of [...upkeep, webhooks, progress, sweeper]) await duty[Symbol.asyncDispose]();
      await front.authenticator[Symbol.asyncDispose]();
      await front.large[Symbol.asyncDispose]();
    },
  };
}
