/** Two servers on one store, each with a machine that has room for one Pod. */
import { MemoryLogs } from "../src/ports/logs/memory-logs.ts";
import { MemorySignals } from "../src/ports/signals/memory-signals.ts";
import { type PodWorld, setupPods } from "./pod-world.ts";

export interface PodNodes extends AsyncDisposable {
  first: PodWorld;
  second: PodWorld;
}

export async function setupPodNodes(): Promise<PodNodes> {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const machine = { capacity: { vcpu: 2, ceilings: false } };
  const first = await setupPods({ signals, machine: { name: "first", ...machine } });
  const beside = { signals, store: first.store, found: { ...first, logs: new MemoryLogs() } };
  const second = await setupPods({ ...beside, machine: { name: "second", ...machine } });
  await first.pass(6);
  return {
    first,
    second,
    async [Symbol.asyncDispose]() {
      await second[Symbol.asyncDispose]();
      await first[Symbol.asyncDispose]();
    },
  };
}

/** Returns the node whose machine a Pod is on, and the other one. */
export function sidesOf({ first, second }: PodNodes, id: string): [PodWorld, PodWorld] {
  const isOn = (world: PodWorld) => world.running().some(({ spec }) => spec.owner === id);
  return isOn(first) ? [first, second] : [second, first];
}
