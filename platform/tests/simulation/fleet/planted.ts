/** Bugs planted into a fleet from outside, one at a time, each with a mix that makes it likely to show. */
import type { EventBlock } from "../../../src/kernel/event-block.ts";
import type { JobChange, Queue } from "../../../src/ports/queue/queue.ts";
import type { Store, Write } from "../../../src/ports/store/store.ts";
import type { AccountEvent } from "../../../src/resources/events/model.ts";
import { overriding } from "../disk.ts";
import type { FleetMixChange } from "./mix.ts";
import type { SimulatedNode } from "./node.ts";
import type { FleetPlant } from "./world.ts";

export interface PlantedFleetBug {
  name: string;
  /** What the violation says. */
  shows: RegExp;
  plant: FleetPlant;
  mix: FleetMixChange;
}

const HOUR_MS = 3_600_000;
const onlyPods: FleetMixChange = {
  deeds: { createPod: 4, actOnPod: 3, deletePod: 1, createEndpoint: 0, submit: 0 },
  restMs: 700,
};
const onlyWorkers: FleetMixChange = { deeds: { createPod: 0, createEndpoint: 2, submit: 8 }, vcpu: 16, restMs: 700 };
const trueClocks: FleetMixChange = {
  skewMs: 0,
  faults: { jump: 0, storeDown: 0, crash: 0, freeze: 0, powerOff: 0, leave: 0 },
};
const noCrash = { commit: { crashBefore: 0, crashAfter: 0 } };

export const plantedFleetBugs: PlantedFleetBug[] = [
  {
    name: "a worker is ready before it has started",
    shows: /went from PLACED to READY/,
    mix: onlyWorkers,
    plant: writing((write) =>
      write.do === "patch" && write.set.state === "STARTING"
        ? { ...write, set: { ...write.set, state: "READY" } }
        : write,
    ),
  },
  {
    name: "a Pod that waits does not say why",
    shows: /is \w+ without a reason/,
    mix: onlyPods,
    plant: writing((write) =>
      write.do === "patch" && write.kind === "pod" && write.set.reason
        ? { ...write, set: { ...write.set, reason: null } }
        : write,
    ),
  },
  {
    name: "room is taken although somebody else has taken it since",
    shows: /given away beyond what it has/,
    mix: { ...onlyPods, nodes: 3, vcpu: 4, people: 3, calls: { slow: 0.4, slowMs: 400 } },
    plant: {
      store: (store) =>
        overriding(store, {
          commit: (writes) => store.commit(writes.filter((write) => kindOf(write) !== "allotment")),
        }),
    },
  },
  {
    name: "a worker is added although somebody else has added one since",
    shows: /is one of \d, and there may be \d/,
    mix: { ...onlyWorkers, nodes: 3, people: 3, calls: { slow: 0.6, slowMs: 800 }, faults: { freeze: 24 } },
    plant: writing((write) => (write.do === "remove" ? write : { ...write, within: [] })),
  },
  {
    name: "a cluster is created with a member too few",
    shows: /has \d members of \d/,
    mix: { gpus: 4, deeds: { createPod: 1, createCluster: 6 }, restMs: 700 },
    plant: {
      store: (store) =>
        overriding(store, {
          commit: (writes) => {
            const isCluster = writes.some((write) => kindOf(write) === "cluster" && write.do === "insert");
            const last = writes.findLastIndex((write) => kindOf(write) === "pod");
            return store.commit(isCluster ? writes.toSpliced(last, 1) : writes);
          },
        }),
    },
  },
  {
    name: "a Pod is placed while its last program still ends",
    shows: /has two programs|when it did not run/,
    mix: {
      ...onlyPods,
      ...{ nodes: 2, gpus: 0, people: 3, restMs: 300 },
      deeds: { createPod: 3, actOnPod: 8, deletePod: 0 },
      calls: { slow: 0.4, slowMs: 400 },
    },
    plant: {
      node: ({ services: { podRecords } }) => {
        podRecords.instancesOf = async () => [];
        podRecords.instances.isOwned = async () => false;
      },
    },
  },
  {
    name: "a program that is removed goes on",
    shows: /without a record|has two programs/,
    mix: onlyPods,
    plant: { compute: (compute) => overriding(compute, { stop: async () => {}, remove: async () => {} }) },
  },
  {
    name: "a node goes on acting on a machine that another node holds",
    shows: /which n\d holds/,
    mix: { ...onlyPods, nodes: 3, isShared: true, faults: { freeze: 8 }, seconds: 60 },
    plant: {
      node: ({ roll }) => {
        roll.machines.holds.has = () => true;
      },
    },
  },
  {
    name: "what was acknowledged is lost",
    shows: /acknowledged/,
    mix: { deeds: { createVolume: 4 }, restMs: 700 },
    plant: { store: losingVolumes },
  },
  {
    name: "a job ends twice",
    shows: /ended twice|went from (COMPLETED|FAILED|CANCELLED) to/,
    mix: { ...onlyWorkers, deeds: { cancel: 4 }, messages: { lost: 0.8 }, mostJobs: 10 },
    plant: applying((change) =>
      change.result
        ? { ...change, when: { states: [...change.when.states, "COMPLETED", "FAILED", "CANCELLED"] } }
        : change,
    ),
  },
  {
    name: "an end that is paid for is not charged",
    shows: /ends are paid for/,
    mix: onlyWorkers,
    plant: applying(({ also: { charge: _, ...also } = {}, ...change }) => ({ ...change, also })),
  },
  {
    name: "a job is given to two workers",
    shows: /was given to/,
    mix: { ...onlyWorkers, mostJobs: 10 },
    plant: { queue: claimingTwice },
  },
  {
    name: "spans begin late",
    shows: /and that is not billed|ends before it begins/,
    mix: { ...onlyPods, ...trueClocks, ...noCrash },
    plant: writing((write) =>
      write.do === "insert" && write.record.kind === "span"
        ? {
            ...write,
            record: { ...write.record, doc: { ...write.record.doc, from: Number(write.record.doc.from) + 5000 } },
          }
        : write,
    ),
  },
  {
    name: "spans end late",
    shows: /when it did not run|overlaps the next one/,
    mix: { ...onlyPods, ...trueClocks, ...noCrash },
    plant: writing((write) =>
      write.do === "patch" && write.kind === "span" && typeof write.set.to === "number"
        ? { ...write, set: { ...write.set, to: write.set.to + 5000 } }
        : write,
    ),
  },
  {
    name: "the span of a removed instance stays open",
    shows: /is open, and its record is gone/,
    mix: onlyPods,
    plant: {
      store: (store) =>
        overriding(store, {
          commit: (writes) => {
            const isEnd = writes.some((write) => write.do === "remove" && write.kind === "instance");
            return store.commit(isEnd ? writes.filter((write) => kindOf(write) !== "span") : writes);
          },
        }),
    },
  },
  {
    name: "what is free of charge is billed",
    shows: /the bill is/,
    mix: onlyWorkers,
    plant: {
      node: ({ services: { costs } }) => {
        const ofAccount = costs.ofAccount.bind(costs);
        costs.ofAccount = async (account, window) => (await ofAccount(account, window)) + BigInt(HOUR_MS);
      },
    },
  },
  {
    name: "a reader of events misses one",
    shows: /a reader/,
    mix: { ...onlyPods, watchers: 2 },
    plant: { node: (node) => changingBlocks(node, (blocks, number) => (number % 3 === 2 ? [] : blocks)) },
  },
  {
    name: "a reader of events gets one twice",
    shows: /a reader got event/,
    mix: { ...onlyPods, watchers: 2 },
    plant: {
      node: (node) => changingBlocks(node, (blocks, number) => (number === 2 ? [...blocks, ...blocks] : blocks)),
    },
  },
];

const kindOf = (write: Write) => (write.do === "insert" ? write.record.kind : write.kind);

/** Replaces every write by another one. */
function writing(other: (write: Write) => Write): FleetPlant {
  return { store: (store) => overriding(store, { commit: (writes) => store.commit(writes.map(other)) }) };
}

/** Replaces every change of a job by another one. */
function applying(other: (change: JobChange) => JobChange): FleetPlant {
  return { queue: (queue) => overriding(queue, { apply: (changes) => queue.apply(changes.map(other)) }) };
}

/** Every claim is answered to the next worker that asks, too. */
function claimingTwice(queue: Queue): Queue {
  let last: Awaited<ReturnType<Queue["claim"]>> = [];
  return overriding(queue, {
    async claim(ask) {
      const claimed = await queue.claim(last.length > 0 ? { ...ask, limit: 0 } : ask);
      const again = last;
      last = again.length > 0 ? [] : claimed;
      return again.length > 0 ? again : claimed;
    },
  });
}

/** A volume disappears with the next commit after its creation. */
function losingVolumes(store: Store): Store {
  const doomed: Write[] = [];
  return overriding(store, {
    async commit(writes) {
      const written = await store.commit(writes);
      const losing = doomed.splice(0);
      if (losing.length > 0) await store.commit(losing).catch(() => undefined);
      for (const write of writes)
        if (write.do === "insert" && write.record.kind === "network-volume")
          doomed.push({ do: "remove", kind: "network-volume", id: write.record.id });
      return written;
    },
  });
}

type Block = EventBlock<AccountEvent>;

/** Replaces what a reader gets, by the number of the block. */
function changingBlocks({ events }: SimulatedNode, change: (blocks: Block[], number: number) => Block[]): void {
  const follow = events.follow.bind(events);
  events.follow = async (...given) => {
    const blocks = await follow(...given);
    return (async function* () {
      let number = 0;
      for await (const block of blocks) yield* change([block], number++);
    })();
  };
}
