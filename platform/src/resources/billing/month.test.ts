/** Bills a month in which Pods and volumes come, stop, grow and go, prices change and the server is killed. */
import { expect, test } from "vitest";
import { DAY, HOUR, nano } from "../../../tests/billing-world.ts";
import { idle } from "../../../tests/idle.ts";
import { type Mortal, mortalStore } from "../../../tests/mortal-store.ts";
import { type Answer, setup, type World } from "../../../tests/world.ts";
import { gpuPrice } from "../../catalog/compute.ts";
import { realRandom, SeededRandom } from "../../kernel/random.ts";
import { FakeCompute } from "../../ports/compute/fake-compute.ts";
import { MemoryStore } from "../../ports/store/memory-store.ts";
import { standardQuotas } from "../account/quotas.ts";

const seed = Number(process.env.MILLRACE_TEST_SEED ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
const T0 = Date.UTC(2026, 0, 1);
const END = Date.UTC(2026, 1, 1);
const GPU = "NVIDIA A40";
const CAPACITY = {
  ...{ vcpu: 256, memoryMb: 1024 * 1024, diskGb: 100_000, ceilings: false, cuda: "12.8" },
  gpus: [{ type: GPU, count: 8, virtual: false }],
};

/** `gpu` is in USD per hour, the others in USD per GB and month. */
type Prices = { gpu: number; container: number; running: number; stopped: number; volume: number; beyond: number };

/** A stretch of time at one rate, in 1e-9 USD for 730 hours. */
interface Stretch {
  from: number;
  to: number | null;
  rate: bigint;
}

/** Writes down what a client sees through the API alone, and computes the cost at the end. */
class Book {
  readonly lines = new Map<
    string,
    { owner: string; stretches: Stretch[]; rateAt: ((prices: Prices) => bigint) | undefined }
  >();
  prices: Prices;

  constructor(prices: Prices) {
    this.prices = prices;
  }

  /** From `at` on this costs the given rate, or nothing if it is undefined. With `anew`, a new stretch begins even at the same price. */
  goOn(owner: string, name: string, at: number, rateAt: ((prices: Prices) => bigint) | undefined, anew = false): void {
    const line = this.lines.get(name) ?? { owner, stretches: [], rateAt: undefined };
    this.lines.set(name, line);
    const open = line.stretches.at(-1);
    const rate = rateAt?.(this.prices);
    const isOpen = open?.to === null;
    line.rateAt = rateAt;
    if (isOpen && rate === open.rate && !anew) return;
    if (isOpen) open.to = at;
    if (rate !== undefined) line.stretches.push({ from: at, to: null, rate });
  }

  reprice(at: number, prices: Prices): void {
    this.prices = prices;
    for (const [name, { owner, stretches, rateAt }] of this.lines)
      if (stretches.at(-1)?.to === null) this.goOn(owner, name, at, rateAt);
  }

  cost(from: number, to: number, now: number, owner?: string): bigint {
    let sum = 0n;
    for (const line of this.lines.values()) {
      if (owner !== undefined && line.owner !== owner) continue;
      for (const stretch of line.stretches) sum += until(stretch, to, now) - until(stretch, from, now);
    }
    return sum;
  }
}

/** Rounds halves up. */
function until({ from, to, rate }: Stretch, moment: number, now: number): bigint {
  const ms = BigInt(Math.max(0, Math.min(moment, to ?? now, now) - from));
  const month = 730n * 3_600_000n;
  return (2n * rate * ms + month) / (2n * month);
}

const times = (usd: number, gb: number) => BigInt(Math.round(usd * gb * 1e9));

class Month {
  readonly random = new SeededRandom(seed);
  readonly book: Book;
  readonly kept = new MemoryStore();
  readonly pods = new Set<string>();
  readonly volumes = new Map<string, number>();
  /** The time at which each Pod's running program started. */
  readonly started = new Map<string, number>();
  kills = 0;
  #life!: Mortal;
  #compute!: FakeCompute;
  world!: World;

  constructor() {
    const storage = { container: 0.1, running: 0.1, stopped: 0.2, volume: 0.07, beyond: 0.05 };
    this.book = new Book({ gpu: gpuPrice.pod(GPU), ...storage });
  }

  async open(): Promise<void> {
    const found = this.world && { found: this.world };
    this.#life = mortalStore(this.kept);
    this.world = await setup({
      ...found,
      rateLimits: "off",
      store: this.#life.store,
      quotas: standardQuotas(64),
      compute: (clock) => {
        this.#compute = this.#compute ? this.#compute.restarted() : new FakeCompute(clock, { capacity: CAPACITY });
        return this.#compute;
      },
    });
    await idle();
  }

  /** Does something, or is killed at one of its commits and starts again. */
  async try(action: () => Promise<unknown>): Promise<void> {
    const { random } = this;
    if (random.chance(0.3)) this.#life.dieAfter(random.below(4), random.chance(0.5));
    const doing = action().catch((error: unknown) => {
      if (!this.#life.isDead) throw error;
    });
    await idle();
    if (!this.#life.isDead && random.chance(0.05)) this.#life.die();
    if (!this.#life.isDead) {
      await doing;
      this.#life.dieAfter(Number.POSITIVE_INFINITY, false);
      return;
    }
    this.kills++;
    await this.world.abandon();
    await doing;
    await this.open();
  }

  call(method: string, path: string, body?: object): Promise<Answer> {
    return this.world.call(method, path, body ? { body } : {});
  }

  /** Advances a second at a time until nothing is in transition, and writes down everything it sees. */
  async settle(): Promise<void> {
    while (await this.#look()) {
      await this.world.clock.advance(1000);
      await idle();
    }
  }

  /** Writes down what the API reports about everything. Returns true while something is neither running nor stopped. */
  async #look(): Promise<boolean> {
    const now = this.world.clock.now();
    const [pods, volumes] = [await this.#all("pods"), await this.#all("network-volumes", "networkVolumes")];
    for (const id of this.pods) if (!pods.has(id)) this.#gone(this.pods, id, now);
    for (const id of this.volumes.keys()) if (!volumes.has(id)) this.#gone(this.volumes, id, now);
    for (const [id, { size }] of volumes) {
      this.volumes.set(id, size);
      const rate = (p: Prices) => times(p.volume, Math.min(size, 1000)) + times(p.beyond, Math.max(0, size - 1000));
      this.book.goOn(id, id, now, rate);
    }
    let isMoving = false;
    for (const [id, pod] of pods) isMoving = this.#lookAt(id, pod, now) || isMoving;
    return isMoving;
  }

  #lookAt(id: string, pod: Answer["json"], now: number): boolean {
    this.pods.add(id);
    const { status, cost, disk, mounts } = pod;
    const size = mounts.persistent.size as number;
    // Only a Pod that has a place costs something.
    const isUsed = cost > 0;
    const stored = JSON.stringify([isUsed, disk, size]);
    const before = this.#stored.get(id);
    this.#stored.set(id, stored);
    this.book.goOn(
      id,
      `${id} disk`,
      now,
      (p) => (isUsed ? times(p.container, disk) + times(p.running, size) : times(p.stopped, size)),
      before !== undefined && before !== stored,
    );
    const startedAt = status === "RUNNING" ? Date.parse(pod.startedAt) : undefined;
    const known = this.started.get(id);
    if (startedAt === undefined) {
      this.book.goOn(id, `${id} gpu`, now, undefined);
      this.started.delete(id);
    } else if (startedAt !== known) {
      // The previous program ended when this one started.
      this.book.goOn(id, `${id} gpu`, startedAt, undefined);
      this.book.goOn(id, `${id} gpu`, startedAt, (p) => times(p.gpu, pod.gpu.count) * 730n, true);
      this.started.set(id, startedAt);
    }
    return !["RUNNING", "EXITED"].includes(status);
  }

  /** The disks of each Pod as last seen. A change begins a new stretch, whatever it costs. */
  readonly #stored = new Map<string, string>();

  #gone(among: { delete(id: string): unknown }, id: string, now: number): void {
    among.delete(id);
    for (const name of [id, `${id} disk`, `${id} gpu`])
      if (this.book.lines.has(name)) this.book.goOn(id, name, now, undefined);
  }

  async #all(path: string, name = path): Promise<Map<string, Answer["json"]>> {
    const { json } = await this.call("GET", `/v2/${path}`);
    return new Map(json[name].map((one: { id: string }) => [one.id, one]));
  }

  async step(): Promise<void> {
    const { random } = this;
    this.world.clock.jump(random.below(12 * HOUR));
    const pod = this.pods.size > 0 ? random.pick([...this.pods]) : undefined;
    const volume = this.volumes.size > 0 ? random.pick([...this.volumes.keys()]) : undefined;
    const act = (action: string) => () => this.call("POST", `/v2/pods/${pod}/action`, { action });
    const newPod = () =>
      this.call("POST", "/v2/pods", {
        ...{ name: "p", image: "host:/app", gpu: { id: GPU, count: 1 + random.below(2) }, disk: 5 + random.below(50) },
        mounts: { persistent: { size: 10 + random.below(500), path: "/workspace" } },
      });
    const newVolume = () =>
      this.call("POST", "/v2/network-volumes", { name: "v", size: 10 + random.below(2000), dataCenter: "EU-RO-1" });
    const actions: (() => Promise<unknown>)[] = [
      ...(this.pods.size < 4 ? [newPod, newPod] : []),
      ...(this.volumes.size < 3 ? [newVolume] : []),
      ...(pod ? [act("stop"), act("start"), act("restart"), act("terminate"), () => this.#resize(pod)] : []),
      ...(volume ? [() => this.#grow(volume), () => this.call("DELETE", `/v2/network-volumes/${volume}`)] : []),
    ];
    if (random.chance(0.15)) await this.#changePrices();
    else await this.try(random.pick(actions));
    await this.settle();
  }

  async #resize(pod: string): Promise<unknown> {
    const { json } = await this.call("GET", `/v2/pods/${pod}`);
    const { persistent } = json.mounts;
    const mounts = { persistent: { ...persistent, size: persistent.size + this.random.below(100) } };
    return this.call(
      "PATCH",
      `/v2/pods/${pod}`,
      this.random.chance(0.5) ? { disk: 5 + this.random.below(50) } : { mounts },
    );
  }

  #grow(volume: string): Promise<unknown> {
    return this.call("PATCH", `/v2/network-volumes/${volume}`, {
      size: Math.min(4096, this.volumes.get(volume)! + this.random.below(900)),
    });
  }

  /** Changes one price. The server may be killed while it applies it to everything that is metered. */
  async #changePrices(): Promise<void> {
    const { random } = this;
    const usd = random.below(1_000_000) / 1e6;
    const [name, set] = random.pick([
      ["gpu", { section: "gpus", id: GPU, name: "secure" }],
      ["container", { section: "storage", id: "storage", name: "containerDiskPerGbMonth" }],
      ["running", { section: "storage", id: "storage", name: "persistentRunningPerGbMonth" }],
      ["stopped", { section: "storage", id: "storage", name: "persistentStoppedPerGbMonth" }],
      ["volume", { section: "storage", id: "storage", name: "networkVolumePerGbMonth" }],
    ] as const);
    const at = await this.world.services.prices.change([{ ...set, price: usd }]);
    this.book.reprice(at, { ...this.book.prices, [name]: usd });
    for (let second = 0; second < 10; second++) await this.try(() => this.world.clock.advance(1000));
  }
}

test(`a month of billing under kills is what is reckoned by hand (seed ${seed})`, async () => {
  const month = new Month();
  await month.open();
  let steps = 0;
  for (; month.world.clock.now() < END - DAY; steps++) await month.step();
  month.world.clock.jump(END + 3 * HOUR - month.world.clock.now());
  const { world, book } = month;
  const now = world.clock.now();
  const window = { startTime: new Date(T0).toISOString(), endTime: new Date(END + DAY).toISOString() };
  const read = async (path: string, bucketSize: string) => {
    const { status, json, text } = await world.call(
      "GET",
      `/v2/billing${path}?${new URLSearchParams({ ...window, bucketSize })}`,
    );
    expect(status, text).toBe(200);
    return json as {
      records: (Record<string, string> & { totalAmount: number })[];
      metadata: { totals: { totalAmount: number } };
    };
  };
  for (const bucketSize of ["hour", "day", "week", "month"]) {
    const { records, metadata } = await read("", bucketSize);
    let sum = 0n;
    for (const { startTime, endTime, totalAmount } of records) {
      const byHand = book.cost(Date.parse(startTime!), Date.parse(endTime!), now);
      expect(nano(totalAmount), `${bucketSize} ${startTime}`).toBe(byHand);
      sum += byHand;
    }
    expect(sum, bucketSize).toBe(book.cost(T0, now, now));
    expect(nano(metadata.totals.totalAmount)).toBe(sum);
  }
  let ofAll = 0n;
  for (const [path, id] of [
    ["/pods", "podId"],
    ["/network-volumes", "networkVolumeId"],
  ] as const)
    for (const { [id]: owner, startTime, endTime, totalAmount } of (await read(path, "day")).records) {
      const byHand = book.cost(Date.parse(startTime!), Date.parse(endTime!), now, owner);
      expect(nano(totalAmount), `${owner} ${startTime}`).toBe(byHand);
      ofAll += byHand;
    }
  expect(ofAll).toBe(book.cost(T0, now, now));
  expect(await world.services.costs.ofAccount(world.owner.account, { from: T0, to: now })).toBe(ofAll);
  console.log(`${steps} steps, ${month.kills} kills, ${book.lines.size} lines, ${Number(ofAll) / 1e9} USD`);
  await world[Symbol.asyncDispose]();
});
