/** A world whose server keeps Pods on a fake machine. */
import type { FakeCompute, FakeOptions } from "../src/ports/compute/fake-compute.ts";
import type { FakeInstance } from "../src/ports/compute/fake-instance.ts";
import { podLog } from "../src/resources/pods/model.ts";
import { openFakeMachine } from "./fake-machine.ts";
import { endWith, instanceOf, noteStarts } from "./fleet-world.ts";
import { idle } from "./idle.ts";
import { type Answer, setup, type World, type WorldOptions } from "./world.ts";

export interface PodWorld extends World {
  compute: FakeCompute;
  /** The ids of all instances whose programs were ever started here. */
  started: string[];
  /** The running programs. */
  running(): FakeInstance[];
  /** Creates a Pod, and waits until it runs if it can. */
  create(body?: object): Promise<Answer["json"]>;
  pod(id: string): Promise<Answer["json"]>;
  act(id: string, action: string): Promise<Answer>;
  change(id: string, change: object): Promise<Answer>;
  /** Lets everything happen that does not wait for time. */
  settle(): Promise<void>;
  /** Advances time second by second, and lets everything happen in each. */
  pass(seconds: number): Promise<void>;
  /** The log of a Pod, with the platform's own lines in brackets. */
  log(pod: string): Promise<string[]>;
  /**
   * The server ends abruptly, and the next one starts on what it left. With `rebooted`, the machine was off too: its programs are gone, or
   * they were asked to end and are there, ended. `meanwhile` runs in between.
   */
  crash(options?: { rebooted?: "nothing left" | "all ended"; meanwhile?: () => Promise<void> }): Promise<PodWorld>;
}

export interface PodWorldOptions extends Omit<WorldOptions, "compute" | "machine"> {
  machine?: FakeOptions & { name?: string };
  /** The driver of another node on the same machine, which this node also names. */
  beside?: FakeCompute;
}

export const CPU_POD = { name: "box", image: "host:/app", cpu: { id: "cpu3c", vcpuCount: 2 } };
export const GPU_POD = { name: "box", image: "host:/app", gpu: { id: "NVIDIA A40", count: 1 } };

/** A machine with a few GPUs that count as real: each belongs to only one instance. */
export const TWO_GPUS: FakeOptions = {
  capacity: {
    vcpu: 32,
    memoryMb: 256 * 1024,
    diskGb: 1000,
    ceilings: false,
    gpus: [{ type: "NVIDIA A40", count: 2, virtual: false }],
    cuda: "12.8",
  },
};

/** The same, with another type that is cheaper than the one before it in the catalog. */
export const CHEAP_AND_DEAR: FakeOptions = {
  capacity: {
    ...TWO_GPUS.capacity,
    gpus: ["NVIDIA A40", "NVIDIA RTX A4000"].map((type) => ({ type, count: 2, virtual: false })),
  },
};

export async function setupPods({ machine, beside, ...options }: PodWorldOptions = {}): Promise<PodWorld> {
  let compute!: FakeCompute;
  const started: string[] = [];
  const world = await setup({
    rateLimits: "off",
    ...options,
    machine: machine?.name,
    compute: (clock) => {
      compute = beside?.peer() ?? openFakeMachine(clock, machine);
      noteStarts(compute, started);
      return compute;
    },
  });
  return podWorld(world, compute, started, { ...options, ...(machine && { machine }) });
}

function podWorld(world: World, compute: FakeCompute, started: string[], options: PodWorldOptions): PodWorld {
  const self: PodWorld = {
    ...world,
    compute,
    started,
    running: () =>
      [...new Set(started)].flatMap((id) => {
        const instance = instanceOf(compute, id);
        return instance && !instance.exited ? [instance] : [];
      }),
    async create(body = CPU_POD) {
      const { status, json, text } = await world.call("POST", "/v2/pods", { body });
      if (status !== 201) throw new Error(text);
      await idle();
      return json;
    },
    pod: async (id) => (await world.call("GET", `/v2/pods/${id}`)).json,
    async act(id, action) {
      const answer = await world.call("POST", `/v2/pods/${id}/action`, { body: { action } });
      await idle();
      return answer;
    },
    async change(id, body) {
      const answer = await world.call("PATCH", `/v2/pods/${id}`, { body });
      await idle();
      return answer;
    },
    settle: idle,
    async pass(seconds) {
      for (let s = 0; s < seconds; s++) {
        await world.clock.advance(1000);
        await idle();
      }
    },
    async log(pod) {
      const lines = await world.logs.read(podLog(pod), { from: { tail: 1000 } });
      return lines.map(({ source, line }) => (source === "system" ? `[${line}]` : line));
    },
    async crash({ rebooted, meanwhile } = {}) {
      await world.abandon();
      await meanwhile?.();
      for (const { id } of await compute.list()) {
        if (rebooted === "nothing left") await compute.remove(id);
        if (rebooted === "all ended") compute.instance(id).exit({ code: 0 });
      }
      if (rebooted) await world.clock.advance(60_000);
      const bootedAt = rebooted && world.clock.now();
      const left = compute.restarted();
      const known = (await left.list()).filter(({ state }) => state !== "pending").map(({ id }) => id);
      noteStarts(left, known);
      const { machine, ...same } = options;
      const found = { store: world.store, found: world, compute: () => left, bootedAt, machine: machine?.name };
      const next = await setup({ rateLimits: "off", ...same, ...found });
      const again = podWorld(next, left, known, options);
      await idle();
      return again;
    },
    [Symbol.asyncDispose]: () => endWith(world),
  };
  return self;
}
