/** A world whose server keeps workers on a fake machine. Each worker speaks the public worker protocol over HTTP. */
import type { FakeCompute, FakeOptions } from "../src/ports/compute/fake-compute.ts";
import type { FakeInstance } from "../src/ports/compute/fake-instance.ts";
import type { KeptWorker } from "../src/resources/workers/model.ts";
import { openFakeMachine } from "./fake-machine.ts";
import { idle } from "./idle.ts";
import { type Answer, type CallOptions, call, setup, type World, type WorldOptions } from "./world.ts";

/** A program that was started: what it was given, and the requests that it can send to the server. */
export interface Program {
  id: string;
  env: Readonly<Record<string, string>>;
  instance: FakeInstance;
  ask(operation: string, options?: CallOptions & { job?: string; query?: string }): Promise<Answer>;
  take(): Promise<{ id: string; input: unknown } | undefined>;
  done(job: string, body?: object): Promise<number>;
  ping(jobs?: string[]): Promise<number>;
}

export interface FleetWorld extends World {
  compute: FakeCompute;
  endpoint: string;
  /** The running programs, in the order of their start. */
  running(): Program[];
  /** The ids of all programs that were ever started here. */
  started: string[];
  record(worker: string): Promise<KeptWorker | undefined>;
  records(): Promise<KeptWorker[]>;
  submit(rest?: object): Promise<string>;
  status(job: string): Promise<Answer["json"]>;
  health(): Promise<Answer["json"]>;
  change(endpoint: object): Promise<void>;
  /** Lets everything happen that does not wait for time. */
  settle(): Promise<void>;
  /** Advances time while a request is held, and returns its answer. */
  after<T>(seconds: number, request: Promise<T>): Promise<T>;
  /** Advances time second by second, and lets everything happen in each. */
  pass(seconds: number): Promise<void>;
  /** The log of a worker, with the platform's own lines in brackets. */
  log(worker: string): Promise<string[]>;
  /** The server ends abruptly, and the next one starts on what it left. */
  crash(): Promise<FleetWorld>;
}

export interface FleetOptions extends Omit<WorldOptions, "compute" | "machine"> {
  /** The body of the first endpoint, or its id if it exists already. */
  endpoint?: object | string;
  /** The driver of another node on the same machine, which this node also names. */
  beside?: FakeCompute;
  /** What the machine has and can do, with a name if there are several. */
  machine?: FakeOptions & { name?: string };
}

export async function setupFleet({
  endpoint = {},
  machine,
  beside,
  ...options
}: FleetOptions = {}): Promise<FleetWorld> {
  let compute!: FakeCompute;
  const started: string[] = [];
  const world = await setup({
    ...options,
    machine: machine?.name,
    compute: (clock) => {
      compute = beside?.peer() ?? openFakeMachine(clock, machine);
      noteStarts(compute, started);
      return compute;
    },
  });
  if (typeof endpoint === "string") return fleetWorld(world, compute, endpoint, started);
  const cpu = "gpu" in endpoint ? {} : { cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const body = { name: "echo", image: "host:/app", ...cpu, ...endpoint };
  const created = await world.call("POST", "/v2/serverless", { body });
  if (created.status !== 201) throw new Error(created.text);
  return fleetWorld(world, compute, created.json.id, started);
}

export function noteStarts(compute: FakeCompute, started: string[]): void {
  compute.watch(({ id, state }) => void (state === "running" && !started.includes(id) && started.push(id)));
}

function fleetWorld(world: World, compute: FakeCompute, endpoint: string, started: string[]): FleetWorld {
  const path = `/v2/${endpoint}`;
  const records = async () => (await world.services.workerRecords.all()).map(({ doc }) => doc);
  const programs = () =>
    started.flatMap((id) => {
      const instance = instanceOf(compute, id);
      return instance && !instance.exited ? [programOf(world, instance)] : [];
    });
  const self: FleetWorld = {
    ...world,
    compute,
    endpoint,
    started,
    running: programs,
    records,
    async record(worker) {
      return (await world.services.workerRecords.all()).find(({ id }) => id === worker)?.doc;
    },
    submit: async (rest = {}) =>
      (await world.call("POST", `${path}/run`, { body: { input: {}, ...rest } })).json.id as string,
    status: async (job) => (await world.call("GET", `${path}/status/${job}`)).json,
    health: async () => (await world.call("GET", `${path}/health`)).json,
    async change(change) {
      const { status, text } = await world.call("PATCH", `/v2/serverless/${endpoint}`, { body: change });
      if (status !== 200) throw new Error(text);
      await idle();
    },
    settle: idle,
    async pass(seconds) {
      for (let s = 0; s < seconds; s++) {
        await world.clock.advance(1000);
        await idle();
      }
    },
    async after(seconds, request) {
      await idle();
      await self.pass(seconds);
      return request;
    },
    async log(worker) {
      const lines = await world.logs.read(`worker/${endpoint}/${worker}`, { from: { tail: 1000 } });
      return lines.map(({ source, line }) => (source === "system" ? `[${line}]` : line));
    },
    async crash() {
      await world.abandon();
      const left = compute.restarted();
      const known = (await left.list()).filter(({ state }) => state !== "pending").map(({ id }) => id);
      noteStarts(left, known);
      const next = await setup({ store: world.store, found: world, compute: () => left });
      const again = fleetWorld(next, left, endpoint, known);
      await idle();
      return again;
    },
    [Symbol.asyncDispose]: () => endWith(world),
  };
  return self;
}

/** Ending the server may wait for jobs that workers have, so time passes meanwhile. */
export async function endWith(world: World): Promise<void> {
  let over = false;
  const end = Promise.resolve(world[Symbol.asyncDispose]()).finally(() => {
    over = true;
  });
  while (!over) {
    await idle();
    if (!over) await world.clock.advance(1000);
  }
  await end;
}

export function instanceOf(compute: FakeCompute, id: string): FakeInstance | undefined {
  try {
    return compute.instance(id);
  } catch {
    return undefined;
  }
}

function programOf(world: World, instance: FakeInstance): Program {
  const { env } = instance.spec;
  const key = env.RUNPOD_AI_API_KEY!;
  const base = `/v2/${env.RUNPOD_ENDPOINT_ID}`;
  const ask: Program["ask"] = (operation, { job, query = "", ...options } = {}) => {
    const [method, name] = operation.split(" ") as [string, string];
    const path = `${base}/${name}/${instance.id}${job === undefined ? "" : `/${job}`}?gpu=none${query}`;
    return call(world.url, method, path, { key, ...options });
  };
  return {
    id: instance.id,
    env,
    instance,
    ask,
    async take() {
      const { status, json } = await ask("GET job-take");
      return status === 200 ? json : undefined;
    },
    done: async (job, body = { output: 1 }) => (await ask("POST job-done", { job, body })).status,
    ping: async (jobs = []) => (await ask("GET ping", { query: `&job_id=${jobs.join(",")}` })).status,
  };
}
