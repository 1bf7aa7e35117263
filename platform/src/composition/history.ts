/** Opens the recorder of metrics, and the service that reads their history. */
import { isNodeKept } from "../machines/nodes.ts";
import { Recorder } from "../resources/history/recorder.ts";
import { HistoryService } from "../resources/history/service.ts";
import { MetricSources } from "../resources/history/sources.ts";
import type { Access } from "./access.ts";
import type { Ground } from "./ground.ts";
import type { Jobs } from "./jobs.ts";
import type { Keeping } from "./keeping.ts";
import type { Roll } from "./roll.ts";
import type { Services } from "./services.ts";

/** Longer than the time between two samples, so that the same node keeps sampling. */
const LEASE_MS = 30_000;

export function openHistory(
  ground: Ground,
  services: Services,
  { tally, book }: Jobs,
  { figures }: Keeping,
  { workers }: Access,
  { balancer }: Roll,
) {
  const sources = new MetricSources({
    ...{ ...ground, ...services, tally, workers, requests: balancer.tally },
    figuresOf: (instance) => figures.of(instance),
    book,
    isGone: async (node) => node !== ground.node.id && !(await isNodeKept(ground.store, node)),
  });
  const mine = ground.leases.of("metrics", LEASE_MS);
  const recording = { ...ground, days: ground.settings.metricsDays };
  const recorder = new Recorder({ ...recording, records: services.seriesRecords, sources, node: ground.node.id, mine });
  return { recorder, history: new HistoryService({ ...recording, ...services, recorder }) };
}
