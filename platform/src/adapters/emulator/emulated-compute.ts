/** The machine of the emulator: every GPU type of the catalog in numbers, and stand-ins for all programs. */
import { type Clock, sleep } from "../../kernel/clock.ts";
import type { Box } from "../../ports/compute/compute.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import type { FakeInstance } from "../../ports/compute/fake-instance.ts";
import type { Bringing } from "../../ports/compute/images.ts";
import type { Faults } from "./faults.ts";
import { listenAsStandIn, StandInWorker } from "./stand-in.ts";

const OF_EACH_TYPE = 64;
const STANDARD_PULL_S = 60;
const ROOM = { vcpu: 4096, memoryMb: 16_777_216, diskGb: 1_000_000, ceilings: true };

export class EmulatedCompute extends FakeCompute {
  /** Whether the server has looked at the capacity since it changed. */
  isSeen = false;
  readonly #faults: Faults;
  readonly #types: readonly string[];
  readonly #workers = new Map<FakeInstance, StandInWorker>();

  constructor(clock: Clock, faults: Faults, types: readonly string[]) {
    const pulling = async ({ progress }: Bringing) => {
      const fault = faults.use("slow-pull");
      if (!fault) return;
      progress("the emulator was asked for a slow pull");
      await sleep(clock, (fault.seconds ?? STANDARD_PULL_S) * 1000);
    };
    super(clock, { pulling });
    this.behaviour = (instance) => this.#play(instance);
    this.#faults = faults;
    this.#types = types;
    this.#fit();
    faults.changed = () => this.#fit();
  }

  override async capacity(): Promise<Box[]> {
    this.isSeen = true;
    return super.capacity();
  }

  /** Makes the server hear of each worker. */
  async ping(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.ping()));
  }

  /** What runs keeps its place when capacity goes. */
  #fit(): void {
    const short = this.#faults.of("no-capacity");
    const isNone = short.some(({ gpuTypeId }) => gpuTypeId === undefined);
    const isGone = (type: string) => isNone || short.some(({ gpuTypeId }) => gpuTypeId === type);
    const gpus = this.#types.map((type) => ({ type, count: isGone(type) ? 0 : OF_EACH_TYPE, virtual: true }));
    const box: Partial<Box> = { ...ROOM, ...(isNone && { vcpu: 0, memoryMb: 0, ceilings: false }), gpus };
    this.resize(box);
    this.isSeen = false;
  }

  #play(instance: FakeInstance): void {
    const { kind, ports, env } = instance.spec;
    listenAsStandIn(instance, ports);
    if (kind !== "worker" || env.RUNPOD_WEBHOOK_GET_JOB === undefined) return;
    this.#workers.set(instance, new StandInWorker(instance, this.#faults));
    const forget = () => this.#workers.delete(instance);
    instance.whenExited.then(forget, forget);
  }
}
