/** A simulated machine: the fake driver with its programs, and the true record of what ran on it and when. */

import type { InstanceSpec } from "../../../src/ports/compute/compute.ts";
import { FakeCompute, type FakeOptions } from "../../../src/ports/compute/fake-compute.ts";
import type { FakeInstance } from "../../../src/ports/compute/fake-instance.ts";
import { FakeWire } from "../../../src/ports/compute/fake-networks.ts";
import { MachineClock, Watch } from "./node-clock.ts";
import { runWorker } from "./programs.ts";
import type { FleetWorld } from "./world.ts";

/** One run of a program, in true time. */
export interface Run {
  id: string;
  machine: string;
  spec: InstanceSpec;
  instance: FakeInstance;
  from: number;
  /** Undefined while it runs. */
  to: number | undefined;
}

export interface MachineOptions {
  id: string;
  vcpu: number;
  gpus: number;
  aheadMs: number;
}

const MEMORY_MB = 262_144;
const DISK_GB = 1000;
const GPU = "NVIDIA A40";
const LONGEST_POD_MS = 60_000;

export class SimulatedMachine {
  readonly id: string;
  readonly watch: Watch;
  readonly runs: Run[] = [];
  /** When the machine was last switched on, by its own clock. */
  bootedAt: number | undefined;
  isOn = true;
  readonly vcpu: number;
  readonly memoryMb = MEMORY_MB;
  readonly gpus: number;
  /** Why every start fails now. */
  refusal: string | undefined;
  readonly #world: FleetWorld;
  readonly #drivers = new Set<FakeCompute>();
  #driver: FakeCompute;

  constructor(world: FleetWorld, { id, vcpu, gpus, aheadMs }: MachineOptions) {
    this.#world = world;
    this.id = id;
    this.vcpu = vcpu;
    this.gpus = gpus;
    this.watch = new Watch(world.timeline, aheadMs);
    const devices = gpus > 0 ? [{ type: GPU, count: gpus, virtual: false }] : [];
    const number = world.machines.size + 1;
    const end = { address: `10.0.0.${number}`, port: 4789, mtu: 1500, trusts: ["10.0.0.0/8"] };
    const options: FakeOptions = {
      capacity: { vcpu, memoryMb: MEMORY_MB, diskGb: DISK_GB, gpus: devices, ceilings: false, cuda: "12.8" },
      spanning: { end },
      wire: world.wire,
      behaviour: (instance, spec) => this.#begins(instance, spec),
    };
    this.#driver = new FakeCompute(new MachineClock(world.timeline, this.watch), options);
  }

  /** The driver of the next process of the machine's only node. */
  nextDriver(): FakeCompute {
    this.#drivers.clear();
    this.#driver = this.#prepared(this.#driver.restarted());
    return this.#driver;
  }

  /** The driver of one of several nodes that use the machine at the same time. */
  sharedDriver(): FakeCompute {
    return this.#prepared(this.#driver.peer());
  }

  setStartMs(ms: number): void {
    for (const driver of this.#drivers) driver.startMs = ms;
  }

  recover(): void {
    this.refusal = undefined;
    this.setStartMs(0);
  }

  #prepared(driver: FakeCompute): FakeCompute {
    driver.refuse(() => this.refusal);
    this.#drivers.add(driver);
    return driver;
  }

  get running(): Run[] {
    return this.runs.filter(({ to }) => to === undefined);
  }

  /** Everything that ran is gone, and nobody is told. */
  powerOff(): void {
    this.isOn = false;
    for (const { id } of this.running) this.#driver.lose(id);
  }

  powerOn(): void {
    this.isOn = true;
    this.bootedAt = this.watch.now();
  }

  #begins(instance: FakeInstance, spec: InstanceSpec): void {
    const { timeline, trace, random, mix } = this.#world;
    const run: Run = { id: instance.id, machine: this.id, spec, instance, from: timeline.elapsed, to: undefined };
    this.runs.push(run);
    trace.note(`${spec.kind} ${instance.id} of ${spec.owner} begins on ${this.id}`, spec.owner);
    void instance.whenExited.then(() => {
      run.to = timeline.elapsed;
      trace.note(`${spec.kind} ${instance.id} ends on ${this.id}`, spec.owner);
    });
    this.#world.rules.began(run);
    if (spec.kind === "worker") runWorker(this.#world, instance, spec);
    else if (random.chance(mix.faults.programEnds / 20) && !this.#world.isQuiet)
      instance.after(random.below(LONGEST_POD_MS), () => instance.exit({ code: random.below(2) }));
  }
}

export const newWire = () => new FakeWire();
