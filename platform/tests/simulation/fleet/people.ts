/** People and programs that use the platform through any node: they create, change, delete and submit, and remember what was acknowledged. */
import type { Caller } from "../../../src/kernel/caller.ts";
import { isProblem, type Problem } from "../../../src/kernel/problem.ts";
import type { Fare } from "../../../src/ports/queue/job.ts";
import type { FleetMix } from "./mix.ts";
import { type Answer, ask } from "./network.ts";
import type { SimulatedNode } from "./node.ts";
import type { FleetWorld } from "./world.ts";

const PATIENCE_MS = 15_000;
const IMAGE = "host:/app";
const CPU = [{ id: "cpu3c", vcpuCount: 2 }];
const GPU = "NVIDIA A40";
const DATA_CENTER = "EU-RO-1";
const ENDPOINT_TIMEOUT_MS = 600_000;
export const FARE: Fare = {
  ...{ share: "shared", perRequest: 1000, perSecond: 7 },
  ...{ perMillionInputTokens: 0, perMillionOutputTokens: 0 },
};

type Deed = keyof FleetMix["deeds"];
/** What was acknowledged as created, and not acknowledged as deleted since. `unsure` ones may be gone. */
export interface Owned {
  id: string;
  isUnsure: boolean;
}

export class Person {
  readonly #world: FleetWorld;
  readonly #caller: Caller;
  readonly pods: Owned[] = [];
  readonly clusters: Owned[] = [];
  readonly volumes: Owned[] = [];
  readonly endpoints: Owned[] = [];
  readonly jobs: { id: string; endpoint: string }[] = [];
  #isGone = false;
  #living = Promise.resolve();

  constructor(world: FleetWorld, caller: Caller) {
    this.#world = world;
    this.#caller = caller;
  }

  live(): void {
    this.#living = this.#live();
  }

  async #live(): Promise<void> {
    const { random, mix, timeline } = this.#world;
    const deeds = Object.keys(mix.deeds) as Deed[];
    while (!this.#isGone) {
      await new Promise<void>((resolve) => timeline.after(random.below(mix.restMs), resolve));
      if (this.#isGone) return;
      let left = random.fraction() * deeds.reduce((sum, deed) => sum + mix.deeds[deed], 0);
      const deed = deeds.find((one) => {
        left -= mix.deeds[one];
        return left < 0;
      });
      if (deed) await this.#do(deed);
    }
  }

  leave(): void {
    this.#isGone = true;
  }

  /** Deletes some of what is left, so that the end of a history also sees everything end. */
  async clearUp(): Promise<void> {
    await this.#living;
    const { random } = this.#world;
    for (const owned of [...this.pods, ...this.clusters]) if (random.chance(0.5)) await this.#delete(owned);
  }

  async #delete(owned: Owned): Promise<void> {
    const isPod = this.pods.includes(owned);
    const list = isPod ? this.pods : this.clusters;
    await this.#remove(list, owned, ({ services }) =>
      isPod ? services.pods.remove(this.#caller, owned.id) : services.clusters.remove(this.#caller, owned.id),
    );
  }

  async #do(deed: Deed): Promise<void> {
    const { random, mix } = this.#world;
    const caller = this.#caller;
    const name = `${deed}${random.below(1000)}`;
    switch (deed) {
      case "createPod": {
        const volume = random.chance(0.3) ? random.pick(this.volumes) : undefined;
        const compute = mix.gpus > 0 && random.chance(0.5) ? { gpu: { types: [GPU], count: 1 } } : { cpu: CPU };
        const mounts = volume && { network: [{ volumeId: volume.id, path: "/v" }] };
        const terms = { name, image: IMAGE, ...compute, ...(mounts && { mounts }) };
        return this.#create(this.pods, ({ services }) => services.pods.create(caller, terms));
      }
      case "actOnPod": {
        const pod = random.pick(this.pods);
        const action = random.pick(["start", "stop", "restart"] as const);
        if (pod) await this.#change(pod, ({ services }) => services.pods.act(caller, pod.id, action));
        return;
      }
      case "deletePod":
        return this.#deleteOne(this.pods);
      case "createCluster": {
        const compute = { gpuTypeId: GPU, gpuCountPerPod: 1, podCount: 2 + random.below(3) };
        const asked = { name, type: "APPLICATION" as const, compute, image: IMAGE };
        return this.#create(this.clusters, ({ services }) => services.clusters.create(caller, asked));
      }
      case "deleteCluster":
        return this.#deleteOne(this.clusters);
      case "createVolume": {
        const asked = { name, size: 10, dataCenter: DATA_CENTER };
        return this.#create(this.volumes, ({ services }) => services.volumes.create(caller, asked));
      }
      case "deleteVolume": {
        const volume = random.pick(this.volumes);
        if (volume)
          await this.#remove(this.volumes, volume, ({ services }) => services.volumes.remove(caller, volume.id));
        return;
      }
      case "createEndpoint": {
        if (this.endpoints.length >= 2) return;
        const workers = { min: random.below(2), max: 1 + random.below(3), idleTimeout: 1 + random.below(5) };
        const terms = {
          name,
          image: IMAGE,
          cpu: CPU,
          workers,
          flashboot: random.pick(["OFF", "OFF", "FLASHBOOT"] as const),
        };
        return this.#create(this.endpoints, ({ services }) => services.endpoints.create(caller, terms));
      }
      case "changeEndpoint": {
        const endpoint = random.pick(this.endpoints);
        const terms = random.pick([
          { workers: { min: 0, max: 1 + random.below(3) } },
          { env: { CHANGED: name } },
          { workers: { min: 0, max: 0 } },
        ]);
        if (endpoint)
          await this.#change(endpoint, ({ services }) => services.endpoints.update(caller, endpoint.id, terms));
        return;
      }
      case "deleteEndpoint": {
        const endpoint = random.pick(this.endpoints);
        if (!endpoint) return;
        return this.#remove(this.endpoints, endpoint, ({ services }) => services.endpoints.remove(caller, endpoint.id));
      }
      case "submit":
        return this.#submit();
      case "cancel": {
        const job = random.pick(this.jobs);
        if (job) this.#seen(await this.#ask(({ jobs }) => jobs.engine.cancel(job.endpoint, job.id, true)));
      }
    }
  }

  async #deleteOne(list: Owned[]): Promise<void> {
    const one = this.#world.random.pick(list);
    if (one) await this.#delete(one);
  }

  async #submit(): Promise<void> {
    const { random, mix } = this.#world;
    const endpoint = random.pick(this.endpoints);
    if (!endpoint || this.jobs.length >= mix.mostJobs) return;
    const submission = {
      endpoint: { id: endpoint.id, executionTimeoutMs: ENDPOINT_TIMEOUT_MS },
      ...{ mode: "run" as const, body: '{"input":{}}', by: { account: "guest", fare: FARE } },
      terms: { errorRetries: 0, lowPriority: false, webhooks: [], hasCredential: false },
    };
    const answer = await this.#ask(({ jobs }) => jobs.engine.submit(submission));
    if (this.#seen(answer)) this.jobs.push({ id: answer.value.id, endpoint: endpoint.id });
  }

  async #create(list: Owned[], work: (node: SimulatedNode) => Promise<{ id: string }>): Promise<void> {
    const answer = await this.#ask(work);
    if (this.#seen(answer)) list.push({ id: answer.value.id, isUnsure: false });
  }

  async #change(owned: Owned, work: (node: SimulatedNode) => Promise<unknown>): Promise<void> {
    const answer = await this.#ask(work);
    this.#seen(answer, owned);
  }

  async #remove(list: Owned[], owned: Owned, work: (node: SimulatedNode) => Promise<void>): Promise<void> {
    const answer = await this.#ask(work);
    if (answer === "lost" || ("refused" in answer && isProblem(answer.refused, "unavailable"))) owned.isUnsure = true;
    if (this.#seen(answer, owned)) list.splice(list.indexOf(owned), 1);
  }

  #ask<T>(work: (node: SimulatedNode) => Promise<T>): Promise<Answer<T>> {
    return ask(this.#world, work, PATIENCE_MS);
  }

  #seen<T>(answer: Answer<T>, owned?: Owned): answer is { value: T } {
    if (answer === "lost") return false;
    if ("value" in answer) return true;
    this.#refused(answer.refused, owned);
    return false;
  }

  /** What was acknowledged is there until it is deleted. Other refusals have reasons that people accept. */
  #refused(refused: Problem, owned: Owned | undefined): void {
    if (refused.code === "not-found" && owned && !owned.isUnsure)
      this.#world.trace.broken(`was acknowledged, and now: ${refused.detail}`, owned.id);
    if (refused.code === "fault") this.#world.trace.broken(`a request failed: ${refused.detail}`);
  }
}
