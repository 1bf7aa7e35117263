/** Everything that makes workers and Pods exist: the two trades, the house that keeps their instances, and a planner for each. */
import { named } from "../kernel/failed.ts";
import { House } from "../machines/house.ts";
import { PodFigures } from "../resources/pods/running/figures.ts";
import { Pods } from "../resources/pods/running/pods.ts";
import { PortUses } from "../resources/pods/running/port-uses.ts";
import { PodTrade } from "../resources/pods/running/trade.ts";
import type { Pull } from "../resources/registries/service.ts";
import { Activity } from "../resources/workers/running/activity.ts";
import { Fleet } from "../resources/workers/running/fleet.ts";
import { runsElsewhere } from "../resources/workers/running/need.ts";
import { WorkerTrade } from "../resources/workers/running/trade.ts";
import type { Bells } from "./bells.ts";
import type { Ground } from "./ground.ts";
import type { Jobs } from "./jobs.ts";
import type { Roll } from "./roll.ts";
import type { Services } from "./services.ts";

export type Keeping = ReturnType<typeof openKeeping>;

export function openKeeping(ground: Ground, services: Services, bells: Bells, roll: Roll, jobs: Jobs) {
  const { clock } = ground;
  const { machines, own, balancer, silentSince, isKept } = roll;
  const { toDo, freed } = bells;
  const given = {
    ...ground,
    ...services,
    reveal: (account: string, name: string) => services.secrets.reveal(account, name),
    accessTo: (pull: Pull) => services.registries.accessTo(pull),
  };
  const ofWorkers = { ...jobs, balancer, records: services.workerRecords, keys: services.workerKeys };
  const workers = new WorkerTrade({
    ...given,
    ...ofWorkers,
    endpoint: (id, release) => jobs.book.find(id, release),
    runsElsewhere: async (endpoint, machine) => runsElsewhere(endpoint, machine, await roll.machinesThere()),
    changed: bells.lacking.ring,
  });
  const portUses = new PortUses(clock);
  const figures = new PodFigures({ ...given, machines: own });
  const podTrade = new PodTrade({
    ...{ ...given, silentSince, figures, freed },
    portUsedAt: (pod) => portUses.usedAt(pod),
    sshKeysOf: (account) => services.account.sshKeys({ account }),
    endsOf: (ids) => machines.endsOf(ids),
    elsewhere: roll.otherInstances,
  });
  const activity = new Activity({ ...ofWorkers, own, clock });
  const house = new House({
    ...{ ...given, machines, own, toDo, trades: [workers, podTrade] },
    ensureVolume: (id) => services.volumes.ensure(id),
    activity: () => activity.here(),
    loads: () => balancer.loads(),
  });
  const { frozenS, frozenMb } = ground.settings;
  const planning = { ...given, machines, house, toDo, freed, silentSince };
  const fleet = isKept
    ? new Fleet({
        ...{ ...planning, ...ofWorkers, trade: workers, activity, bells },
        frozen: { forMs: frozenS * 1000, memoryMb: frozenMb },
        makeRoom: (need, whom) => services.yielding.makeRoom(need, whom),
        mine: ground.leases.of("fleet"),
      })
    : undefined;
  const { placer } = services;
  const pods = placer ? new Pods({ ...planning, placer, mine: ground.leases.of("pods") }) : undefined;
  return {
    house,
    figures,
    portUses,
    fleet,
    start(): void {
      if (!isKept) return;
      house.start();
      fleet?.start();
      pods?.start();
    },
    /** First nothing new is planned, then nothing more is begun. Workers end, and Pods continue. */
    async close(): Promise<void> {
      await Promise.all([fleet?.close(), pods?.close()]);
      // Another node plans from now on, while the workers of this one still end.
      await ground.leases.giveAway(["fleet", "pods"]).catch(named(ground.failed, "give duties away"));
      await house.close();
    },
  };
}
