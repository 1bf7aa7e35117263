/** Boots the workers of one machine: image, key, variables and program, each recorded before the next. */
import type { Clock } from "../../../kernel/clock.ts";
import type { Instruments } from "../../../kernel/instruments.ts";
import type { OwnMachine } from "../../../machines/own-machine.ts";
import type { Starter } from "../../../machines/starter.ts";
import { type Instance, type InstanceSpec, ONLY_BOX } from "../../../ports/compute/compute.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import type { WorkerKeys } from "../../endpoints/worker-keys.ts";
import type { Pull, PullAccess } from "../../registries/service.ts";
import type { Reveal } from "../../secrets/placeholders.ts";
import type { WorkerItem, WorkerRecords } from "../records.ts";
import { instanceSpec } from "./boot.ts";
import { StartTimes } from "./start-times.ts";
import type { WorkerLog } from "./worker-log.ts";

export interface BooterParts extends Omit<OwnMachine, "id"> {
  starter: Starter;
  keys: WorkerKeys;
  records: WorkerRecords;
  workerLog: WorkerLog;
  clock: Clock;
  reveal: Reveal;
  /** Finds the current credentials for the registry of an image. By default there are none. */
  accessTo?: (pull: Pull) => Promise<PullAccess>;
  /** Counts starts. Without it, nothing is counted. */
  instruments?: Pick<Instruments, "starts">;
}

/** A program that was started. */
export interface Booted {
  /** Set if the driver accepted the program but has not begun it yet. What becomes of it is reported later. */
  accepted?: Instance;
  /** The worker after its start was recorded. Undefined if somebody changed the record first; they decide what happens to both. */
  started: WorkerItem | undefined;
  keyed: WorkerItem;
  env: InstanceSpec["env"];
}

export class Booter {
  readonly #parts: BooterParts;
  readonly times: StartTimes;

  constructor(parts: BooterParts) {
    this.#parts = parts;
    this.times = new StartTimes(parts.instruments?.starts);
  }

  /**
   * Rejects if the program could not be started. Undefined if nothing was started, because of `isOver` or because another node has the
   * worker.
   */
  async boot(worker: WorkerItem, endpoint: Item<KeptEndpoint>, isOver: () => boolean): Promise<Booted | undefined> {
    const { workerLog, records, accessTo, starter } = this.#parts;
    const { account } = endpoint;
    const { image, registry } = endpoint.doc;
    // A start that only met a silent driver is tried again each second.
    if (worker.doc.reason?.code !== "engine-away")
      workerLog.say(worker, `starting ${image} (release ${worker.doc.release})`);
    let made: Made | undefined;
    const begun = await starter.begin({
      ...{ id: worker.id, account, image, isOver, box: worker.doc.box ?? ONLY_BOX },
      ...(await accessTo?.({ account, image, registry })),
      say: (line) => workerLog.say(worker, line),
      spec: async () => {
        made = await this.#make(worker, endpoint);
        return made?.spec;
      },
    });
    if (!begun || !made) return undefined;
    this.times.note(worker.id, begun.times);
    const booted = { keyed: made.keyed, env: made.spec.env };
    if (begun.instance.state !== "running") return { ...booted, started: undefined, accepted: begun.instance };
    const { startedAt, devices } = begun.instance;
    const started = await records.move(made.keyed, "start", { startedAt, reason: null, ...(devices && { devices }) });
    return { ...booted, started };
  }

  /** The key is recorded with the worker that has it, before anything runs with it. */
  async #make(worker: WorkerItem, endpoint: Item<KeptEndpoint>): Promise<Made | undefined> {
    const { keys, records, workerUrl, site, reveal } = this.#parts;
    if (worker.doc.keyId !== null) await keys.revoke(worker.doc.keyId);
    const { keys: issuing, write } = keys.issuing(endpoint.account, endpoint.id, worker.id);
    const { id: keyId, ...issued } = issuing;
    const keyed = await records.update(worker, { keyId }, [write]);
    if (!keyed) return undefined;
    const url = await workerUrl(endpoint.doc.image);
    return { keyed, spec: await instanceSpec({ endpoint, worker: keyed, url, ...issued, site }, reveal) };
  }
}

/** The program to start for a worker whose key is recorded. */
interface Made {
  keyed: WorkerItem;
  spec: InstanceSpec;
}
