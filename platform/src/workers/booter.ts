/** Boots workers of one machine: image, key, variables, program, each on record before the next. */
import type { Clock } from "../kernel/clock.ts";
import type { Images } from "../machines/images.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { InstanceSpec, RegistryCredential } from "../ports/compute/compute.ts";
import type { Item } from "../ports/store/collection.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import type { Reveal } from "../resources/secrets/placeholders.ts";
import type { WorkerItem, WorkerRecords } from "../resources/workers/records.ts";
import { instanceSpec } from "./boot.ts";
import { StartGate, startLimits } from "./start-gate.ts";
import { StartTimes } from "./start-times.ts";
import type { WorkerLog } from "./worker-log.ts";

export interface BooterParts extends Omit<OwnMachine, "id"> {
  keys: WorkerKeys;
  records: WorkerRecords;
  workerLog: WorkerLog;
  clock: Clock;
  reveal: Reveal;
  images: Images;
  /** What opens the registry of an endpoint's image; nothing by default. */
  credentialOf?: (endpoint: Item<KeptEndpoint>) => Promise<RegistryCredential | undefined>;
}

/** A program that runs. */
export interface Booted {
  /** As it is on record; undefined when somebody changed the record first, and decides what becomes of both. */
  started: WorkerItem | undefined;
  keyed: WorkerItem;
  env: InstanceSpec["env"];
}

export class Booter {
  readonly #parts: BooterParts;
  readonly #progress = new Map<string, string>();
  readonly times = new StartTimes();
  readonly #gate: StartGate;
  #vcpu: number | undefined;

  constructor(parts: BooterParts) {
    this.#parts = parts;
    this.#gate = new StartGate(parts.clock, () => startLimits(this.#vcpu ?? 1));
  }

  /** A start of this worker that has not begun never does. */
  giveUp(worker: string): void {
    this.#gate.giveUp(worker);
  }

  /** What was last said of the image that a worker waits for. */
  progressOf(worker: string): string | undefined {
    return this.#progress.get(worker);
  }

  /** Rejects when there is no program in the end. Undefined when nothing was started, since `isOver` or another node has the worker. */
  async boot(worker: WorkerItem, endpoint: Item<KeptEndpoint>, isOver: () => boolean): Promise<Booted | undefined> {
    const { compute, workerLog, clock } = this.#parts;
    const { image } = endpoint.doc;
    const placed = clock.now();
    workerLog.say(worker, `starting ${image} (release ${worker.doc.release})`);
    try {
      const exact = await this.#prepare(worker, endpoint);
      this.#vcpu ??= sum((await compute.capacity()).map(({ vcpu }) => vcpu));
      using turn = await this.#gate.enter(worker.account, worker.id);
      if (!turn || isOver()) return undefined;
      return await this.#start(worker, endpoint, { exact, placed, prepared: clock.now() }, isOver);
    } finally {
      this.#progress.delete(worker.id);
    }
  }

  /** What is to be started of the endpoint's image, once it is on the machine. */
  async #prepare(worker: WorkerItem, endpoint: Item<KeptEndpoint>): Promise<string> {
    const { images, credentialOf, workerLog } = this.#parts;
    const { image } = endpoint.doc;
    const progress = (line: string) => {
      this.#progress.set(worker.id, line);
      workerLog.say(worker, `pulling image ${image}: ${line}`);
    };
    return images.prepare({ image, account: endpoint.account, credential: await credentialOf?.(endpoint), progress });
  }

  /** The key is on record before anything runs with it. */
  async #start(
    worker: WorkerItem,
    endpoint: Item<KeptEndpoint>,
    { exact, ...times }: { exact: string; placed: number; prepared: number },
    isOver: () => boolean,
  ): Promise<Booted | undefined> {
    const { compute, keys, records, workerUrl, site, reveal, clock } = this.#parts;
    if (worker.doc.keyId !== null) await keys.revoke(worker.doc.keyId);
    const { id: keyId, ...issued } = await keys.issue(endpoint.account, endpoint.id, worker.id);
    const keyed = await records.update(worker, { keyId });
    if (!keyed) {
      await keys.revoke(keyId);
      return undefined;
    }
    const url = await workerUrl(endpoint.doc.image);
    const spec = await instanceSpec({ endpoint, worker: keyed, url, ...issued, site }, reveal);
    if (isOver()) return undefined;
    const { startedAt, devices } = await compute.start(worker.id, { ...spec, image: exact });
    this.times.note(worker.id, { ...times, created: clock.now() });
    const started = await records.move(keyed, "start", { startedAt, ...(devices && { devices }) });
    return { started, keyed, env: spec.env };
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
