/** The hub of a server: the listings of its sources, and the tests of what was deployed from them. */
import { HubProofs } from "../resources/hub/proofs.ts";
import { HubService } from "../resources/hub/service.ts";
import { HubShelf } from "../resources/hub/shelf.ts";
import type { Access } from "./access.ts";
import type { Ground } from "./ground.ts";
import type { Jobs } from "./jobs.ts";
import type { Keeping } from "./keeping.ts";
import type { Services } from "./services.ts";

export type Hub = ReturnType<typeof openHub>;

export function openHub(
  ground: Ground,
  services: Services,
  { engine, desk }: Jobs,
  { fleet }: Keeping,
  { podPorts }: Pick<Access, "podPorts">,
) {
  const { queue, listingSources: sources = [] } = ground;
  const shelf = new HubShelf({ ...ground, sources });
  const proofs = new HubProofs({
    ...{ ...ground, ...services, engine },
    dialPod: (account, pod, port) => podPorts.dialFor(account, pod, port),
    mine: ground.leases.of("hub"),
  });
  const waiting = { queue, fleet, overruns: desk.overruns };
  return { shelf, proofs, service: new HubService({ ...ground, ...services, shelf, proofs, waiting }) };
}
