/** Two servers on one store, each with a machine that has room for one Pod, unless a test says otherwise. */
import type { FakeOptions } from "../src/ports/compute/fake-compute.ts";
import { MemoryLogs } from "../src/ports/logs/memory-logs.ts";
import { MemorySignals } from "../src/ports/signals/memory-signals.ts";
import { type PodWorld, setupPods } from "./pod-world.ts";

export interface PodNodes extends AsyncDisposable {
  first: PodWorld;
  second: PodWorld;
}

type MachineName = "first" | "second";

export async function setupPodNodes(more: (name: MachineName) => FakeOptions = () => ({})): Promise<PodNodes> {
  const signals = Object.defineProperty(new MemorySignals(), "reliable", { value: false });
  const machine = (name: MachineName) => ({ name, capacity: { vcpu: 2, ceilings: false }, ...more(name) });
  const first = await setupPods({ signals, machine: machine("first") });
  const beside = { signals, store: first.store, found: { ...first, logs: new MemoryLogs() } };
  const second = await setupPods({ ...beside, machine: machine("second") });
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
