/** Opens what gathers the metrics of this node and of the installation. */
import { waitFacts } from "../jobs/wait-facts.ts";
import { queueReason } from "../jobs/wait-reason.ts";
import { Figures } from "../resources/installation/figures.ts";
import { Metrics } from "../surfaces/metrics/metrics.ts";
import type { Access } from "./access.ts";
import type { Front } from "./front.ts";
import type { Ground } from "./ground.ts";
import type { Jobs } from "./jobs.ts";
import type { Keeping } from "./keeping.ts";
import type { Roll } from "./roll.ts";
import type { Services } from "./services.ts";

export function openMetrics(
  ground: Ground,
  services: Services,
  { machines }: Roll,
  { desk }: Jobs,
  { fleet }: Keeping,
  { workers }: Access,
  { memory, doorkeeper }: Front,
): Metrics {
  const { clock, queue, settings } = ground;
  const known = async () => {
    // This finds out which machines are silent, so it comes first.
    await machines.roll();
    return machines.known();
  };
  const whyWaiting = async (endpoint: string) => {
    const { counts, workforce, ofWorkers } = await waitFacts({ queue, overruns: desk.overruns, fleet }, endpoint);
    return queueReason(counts, workforce, ofWorkers, clock.now()).code;
  };
  const figures = new Figures({ ...ground, ...services, workers, known, whyWaiting });
  const connections = () => doorkeeper.connections;
  return new Metrics({ ...ground, memory, connections, figures, endpoints: settings.metricsEndpoints ?? 0 });
}
