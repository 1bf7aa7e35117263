/** What a server does regularly by itself: it removes, expires, reprices, reports and creates what is due. */

import { every } from "../kernel/background.ts";
import { named } from "../kernel/failed.ts";
import { floating } from "../kernel/floating.ts";
import { AuditSweeper } from "../resources/audit/sweeper.ts";
import { Repricing } from "../resources/billing/repricing.ts";
import type { GoneNodes } from "../resources/installation/gone-nodes.ts";
import { endpointRemovers } from "../resources/removers.ts";
import { SpendNotices } from "../resources/spending/notices.ts";
import { WORKER_LOGS } from "../resources/workers/model.ts";
import type { Ground } from "./ground.ts";
import type { Jobs } from "./jobs.ts";
import type { Keeping } from "./keeping.ts";
import type { Services } from "./services.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const EXPIRING = { name: "expire logs", everyMs: HOUR_MS };
const NODES = { name: "remove nodes that are gone", everyMs: 10 * 60_000 };
const RELEASES = { name: "remove old releases", everyMs: HOUR_MS };
/** An endpoint keeps this many releases if the settings do not say otherwise. */
const RELEASES_KEPT = 1000;
const SIGNED_IN = { name: "expire sessions and invitations", everyMs: HOUR_MS };
/** The jobs of an account that the command line deleted are gone after about this long. */
const REMOVING = { name: "finish removals", everyMs: 5000, longestMs: HOUR_MS };

/** Returned in the order in which they end. */
export function openUpkeep(
  ground: Ground,
  services: Services,
  { engine }: Jobs,
  { fleet }: Keeping,
  goneNodes: GoneNodes,
): AsyncDisposable[] {
  const { clock, logs, failed, settings } = ground;
  const { removals } = services;
  removals.register("endpoint", endpointRemovers({ ...services, workers: fleet, jobs: engine, logs }));
  const auditing = { ...ground, days: settings.auditDays ?? 90, mine: ground.leases.of("audit") };
  const notices = { ...ground, ...services, secret: settings.webhookSecret, mine: ground.leases.of("spending") };
  const auditSweeper = new AuditSweeper(auditing);
  const spendNotices = new SpendNotices(notices);
  const expire = (now: number) => logs.expire(WORKER_LOGS, now - settings.logDays * DAY_MS);
  const expiring = every(clock, EXPIRING, expire, failed);
  const removing = every(clock, REMOVING, () => removals.finishAll(), failed);
  floating(removing.soon(), named(failed, REMOVING.name));
  const { sessions, invitations, signInLinks, codeLogins } = services;
  const expirePeople = async () => {
    for (const kept of [sessions, invitations, signInLinks, codeLogins]) await kept.sweep();
  };
  const leaving = every(clock, SIGNED_IN, expirePeople, failed);
  const trimming = every(clock, RELEASES, () => trimReleases(services, settings.releasesKept ?? RELEASES_KEPT), failed);
  const forgetting = every(clock, NODES, (now) => goneNodes.sweep(now), failed);
  const repricing = new Repricing({ ...ground, ...services, mine: ground.leases.of("prices") });
  return [repricing, forgetting, trimming, leaving, removing, expiring, auditSweeper, spendNotices];
}

async function trimReleases({ endpoints, releaseRecords }: Services, most: number): Promise<void> {
  for await (const { id, doc } of endpoints.all())
    if (doc.release > most) await releaseRecords.removeOld({ id, release: doc.release }, most);
}
