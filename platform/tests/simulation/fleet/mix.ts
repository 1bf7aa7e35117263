/** The settings of a fleet's history: its nodes and machines, what people do, and how often which things go wrong. */
import type { SeededRandom } from "../../../src/kernel/random.ts";
import type { ChangeOf } from "../mix.ts";

export interface FleetMix {
  /** How long things go wrong before the quiet end. */
  seconds: number;
  nodes: number;
  /** Whether all nodes also name one machine that they share, as several servers of one cluster do. */
  isShared: boolean;
  gpus: number;
  vcpu: number;
  people: number;
  restMs: number;
  mostJobs: number;
  watchers: number;
  /** Relative weights of what people do. */
  deeds: Record<
    | "createPod"
    | "actOnPod"
    | "deletePod"
    | "createCluster"
    | "deleteCluster"
    | "createVolume"
    | "deleteVolume"
    | "createEndpoint"
    | "changeEndpoint"
    | "deleteEndpoint"
    | "submit"
    | "cancel",
    number
  >;
  /** How often each fault happens in a hundred seconds. */
  faults: Record<
    | "crash"
    | "freeze"
    | "leave"
    | "powerOff"
    | "storeDown"
    | "jump"
    | "programEnds"
    | "startsFail"
    | "slowStarts"
    | "evict",
    number
  >;
  /** How far the clocks of nodes are apart, at most. */
  skewMs: number;
  calls: { slow: number; slowMs: number };
  /** The chances that a node dies at each commit. */
  commit: Record<"crashBefore" | "crashAfter", number>;
  messages: Record<"lost" | "late", number>;
}

export type FleetMixChange = ChangeOf<FleetMix>;

/** Every history has its own selection of deeds and faults. With all of them at once, most would hide each other. */
export function fleetMixOf(random: SeededRandom): FleetMix {
  const sometimes = (most: number) => (random.chance(0.4) ? random.fraction() * most : 0);
  const [pods, workers] = random.pick([
    [true, false],
    [false, true],
    [true, true],
  ] as const);
  const of = (is: boolean, weight: number) => (is ? weight : 0);
  return {
    seconds: 15 + random.below(25),
    nodes: random.pick([1, 2, 2, 2, 3]),
    isShared: random.chance(0.3),
    gpus: random.pick([0, 2, 4]),
    vcpu: random.pick([4, 8, 16]),
    people: 1 + random.below(2),
    restMs: random.pick([300, 700, 2000]),
    mostJobs: random.pick([3, 10]),
    watchers: random.chance(0.4) ? 1 + random.below(2) : 0,
    deeds: {
      createPod: of(pods, 3),
      actOnPod: of(pods, random.below(4)),
      deletePod: of(pods, random.below(3)),
      createCluster: of(pods, sometimes(2)),
      deleteCluster: of(pods, sometimes(2)),
      createVolume: sometimes(1.5),
      deleteVolume: sometimes(1),
      createEndpoint: of(workers, 3),
      changeEndpoint: of(workers, sometimes(2)),
      deleteEndpoint: of(workers, sometimes(1)),
      submit: of(workers, 6),
      cancel: of(workers, sometimes(1)),
    },
    faults: {
      crash: sometimes(15),
      freeze: sometimes(15),
      leave: sometimes(10),
      powerOff: sometimes(10),
      storeDown: sometimes(10),
      jump: random.chance(0.2) ? random.fraction() * 10 : 0,
      programEnds: sometimes(20),
      startsFail: sometimes(15),
      slowStarts: sometimes(15),
      evict: sometimes(10),
    },
    skewMs: random.pick([0, 0, 0, 2000, 20_000]),
    calls: { slow: random.pick([0.02, 0.1, 0.4]), slowMs: random.pick([3, 30, 400]) },
    commit: { crashBefore: sometimes(0.01), crashAfter: sometimes(0.01) },
    messages: { lost: sometimes(0.3), late: sometimes(0.3) },
  };
}

/** The end of every history: nothing goes wrong any more. */
export const calm: Pick<FleetMix, "calls" | "commit" | "messages"> = {
  calls: { slow: 0, slowMs: 0 },
  commit: { crashBefore: 0, crashAfter: 0 },
  messages: { lost: 0, late: 0 },
};
