/** An endpoint at rest is one for which no plan has a step, and only then may the planner skip it. */
import { expect, test } from "vitest";
import { workerDoc } from "../../../../tests/worker-doc.ts";
import { SeededRandom } from "../../../kernel/random.ts";
import { saying } from "../../../kernel/reason.ts";
import { heldBy } from "../../../machines/held.ts";
import { placeOf } from "../../../machines/instances.ts";
import { Room } from "../../../machines/room.ts";
import { ONLY_BOX } from "../../../ports/compute/compute.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerState } from "../model.ts";
import { type Facts, plan, type WorkerItem } from "./plan.ts";
import { isAtRest } from "./rest.ts";
import { AccountShare } from "./share.ts";
import { Shelf } from "./shelf.ts";

const NOW = 1_000_000;
const STATES: WorkerState[] = ["READY", "READY", "READY", "STARTING", "WANTED", "FROZEN", "DRAINING", "FAILED"];
const box = { id: ONLY_BOX, vcpu: 8, memoryMb: 65_536, diskGb: 100, gpus: [], ceilings: false };

/** Mostly what a calm endpoint looks like, with anything of it off now and then. */
function factsOf(random: SeededRandom): Facts {
  const odd = () => random.chance(0.1);
  const min = random.below(3);
  const workers = Array.from({ length: odd() ? random.below(4) : min }, (_, i) => workerOf(random, `w${i}`));
  const machines = [{ id: "m", boxes: [box], dataCenter: "US-KS-2" }];
  const room = new Room(machines, workers.flatMap(placeOf));
  const frozen = workers.filter(({ doc }) => doc.state === "FROZEN");
  const waiting = odd() ? 1 : 0;
  const isThere = !odd();
  const isSilent = odd();
  const isDraining = odd();
  const docs = workers.map(({ doc }) => doc);
  return {
    endpoint: endpointOf(random, min),
    workers,
    workload: {
      ...{ waiting, lowPriorityWaiting: odd() ? 1 : 0, inProgress: odd() ? 1 : 0 },
      waitingSince: Array.from({ length: waiting }, () => NOW - 60_000),
    },
    jobsOf: new Map([...workers.map(({ id }) => [id, 0] as const), ...(odd() ? [["by-hand", 0] as const] : [])]),
    idleSince: () => NOW - 3_600_000,
    room,
    share: new AccountShare({ gpus: 1000, vcpu: 1000, workers: 1000 }, docs, heldBy(workers)),
    shelf: new Shelf(frozen, room, [], { forMs: 3_600_000, memoryMb: () => 65_536 }),
    called: frozen.map(({ id }) => id),
    isThere: () => isThere,
    silentSince: () => (isSilent ? NOW - 20_000 : undefined),
    isDraining: () => isDraining,
    now: NOW,
  };
}

function endpointOf(random: SeededRandom, min: number): KeptEndpoint {
  return {
    ...{
      name: "n",
      type: "QUEUE",
      image: "host:/app",
      args: "",
      entrypoint: [],
      cmd: [],
      disk: 20,
      env: {},
      ports: [],
    },
    ...{ registry: null, cpu: [{ id: "cpu3c", vcpuCount: 2, memory: 4 }], dataCenterIds: [], networkVolumes: [] },
    workers: { min, max: random.pick([2, 3]), idleTimeout: 10 },
    scaling: random.pick([
      { type: "QUEUE_DELAY", queueDelay: 4 },
      { type: "REQUEST_COUNT", requestCount: 2 },
    ]),
    timeout: 300_000,
    flashboot: random.pick(["OFF", "FLASHBOOT"]),
    release: 2,
  };
}

function workerOf(random: SeededRandom, id: string): WorkerItem {
  const reason = saying("worker-silent", "silent");
  const doc = workerDoc({
    ...{ release: random.chance(0.1) ? 1 : 2, machine: random.chance(0.1) ? null : "m", vcpu: 2, memoryMb: 4096 },
    state: random.chance(0.8) ? "READY" : random.pick(STATES),
    ...(random.chance(0.1) && { hindrance: { kind: "silent", since: NOW - 20_000, reason } }),
    ...{ startedAt: NOW - 5000, readyAt: NOW - 4000 },
  });
  return { id, account: "a", createdAt: NOW - 6000, version: 1, doc };
}

test("no plan has a step for an endpoint at rest", () => {
  let atRest = 0;
  for (let seed = 0; seed < 4000; seed++) {
    const isResting = isAtRest(factsOf(new SeededRandom(seed)));
    if (!isResting) continue;
    atRest++;
    expect({ seed, steps: plan(factsOf(new SeededRandom(seed))) }).toEqual({ seed, steps: [] });
  }
  expect(atRest).toBeGreaterThan(400);
});

test("with its minimum of healthy workers and no job an endpoint is at rest", () => {
  const calm = { chance: () => false, below: () => 2, pick: <T>(items: readonly T[]) => items[0]! };
  expect(isAtRest(factsOf(calm as unknown as SeededRandom))).toBe(true);
});
