/** The keeper makes the records of one machine's workers true: it boots, drains, ends and recovers them, each step repeatable. */
import { holderName } from "../jobs/holder.ts";
import type { WorkerDesk } from "../jobs/worker-desk.ts";
import { eachOf } from "../kernel/bounded.ts";
import { type Clock, sleep } from "../kernel/clock.ts";
import { floating } from "../kernel/floating.ts";
import type { Log } from "../kernel/log.ts";
import type { OwnMachine } from "../machines/own-machine.ts";
import type { Instance } from "../ports/compute/compute.ts";
import type { HolderState } from "../ports/queue/queue.ts";
import type { Item } from "../ports/store/collection.ts";
import type { KeptEndpoint } from "../resources/endpoints/model.ts";
import type { WorkerKeys } from "../resources/endpoints/worker-keys.ts";
import { type Reveal, resolveEnv } from "../resources/secrets/placeholders.ts";
import { workerLifecycle } from "../resources/workers/model.ts";
import type { WorkerRecords } from "../resources/workers/records.ts";
import { type Booted, Booter } from "./booter.ts";
import { isProven } from "./brake.ts";
import { callOf } from "./call.ts";
import { CannotThaw, Freezer } from "./freezer.ts";
import { Hindrances } from "./hindrances.ts";
import { Patience } from "./patience.ts";
import type { WorkerItem } from "./plan.ts";
import type { Rotation } from "./rotation.ts";
import { BOOT_FAILED } from "./wait-sentence.ts";
import type { FleetWarmUps } from "./warm-ups.ts";
import { exitText, type WorkerLog, withoutItsWords } from "./worker-log.ts";

export interface KeeperParts extends Omit<OwnMachine, "id"> {
  machine: string;
  desk: WorkerDesk;
  rotation: Rotation;
  records: WorkerRecords;
  keys: WorkerKeys;
  workerLog: WorkerLog;
  clock: Clock;
  log: Log;
  failed: (error: unknown) => void;
  endpoint: (id: string) => Promise<Item<KeptEndpoint> | undefined>;
  reveal: Reveal;
  warmUps: FleetWarmUps;
  /** Something happened to a worker of this endpoint: it may need another. */
  changed: (endpoint: string) => void;
}

/** A worker without jobs needs no longer to end itself. */
const STOP_GRACE_MS = 5000;
/** Nor does one whose jobs are gone, for which somebody waits. */
const DELETED_GRACE_MS = 1000;
/** More at once would take longer: most of an end is waiting, but the rest is work. */
const ENDS_AT_ONCE = 64;
/** A stop that does not end by then is not waited for. */
const STOP_LIMIT_MS = 15_000;
/** How long a worker may go on with its job when the server ends, and how often is looked whether it still does. */
const LAST_JOB_MS = 5000;
const LOOK_MS = 100;

export class Keeper {
  readonly #parts: KeeperParts;
  /** Work on one worker, one step after the other; a second wish while it goes on is one more round. */
  readonly #tended = new Map<string, { over: Promise<void>; again: boolean }>();
  readonly #booter: Booter;
  readonly #freezer: Freezer;
  readonly #exits = new Map<string, Instance>();
  readonly #patience: Patience;
  readonly #hindrances: Hindrances;
  readonly #givenUp = new Map<string, string>();
  readonly #stopWatching: () => void;
  #recovered = false;
  #closed = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
    this.#booter = new Booter(parts);
    this.#freezer = new Freezer({ ...parts, goesOn: (worker) => this.#join(worker) });
    this.#patience = new Patience({ ...parts, freezer: this.#freezer });
    this.#hindrances = new Hindrances(parts);
    this.#stopWatching = parts.compute.watch((instance) => this.#noticed(instance));
    parts.rotation.tell({
      ready: (id) => this.#background(this.answered(id)),
      failed: (id, reason) => this.#background(this.giveUp(id, reason)),
      drained: (id) => this.#background(this.tend(id)),
      ailing: (id) => this.#background(this.#lookAt(id)),
    });
  }

  /** What was last said of the image that a worker waits for. */
  progressOf(worker: string): string | undefined {
    return this.#booter.progressOf(worker);
  }

  #background(work: Promise<void>): void {
    floating(work, this.#parts.failed);
  }

  /** Brings a worker to where its record says it is, now or right after what is being done with it. */
  tend(id: string): Promise<void> {
    const tended = this.#tended.get(id);
    if (tended) {
      tended.again = true;
      return tended.over;
    }
    const entry = { again: false, over: Promise.resolve() };
    entry.over = this.#rounds(id, entry)
      .catch(this.#parts.failed)
      .finally(() => this.#tended.delete(id));
    this.#tended.set(id, entry);
    return entry.over;
  }

  /**
   * Compares the records with what runs: what nobody has a record of is removed, and what a record speaks of and does not run has
   * ended. At the start this is the recovery from whatever ended the process before.
   */
  async compare(): Promise<void> {
    const { compute } = this.#parts;
    // Read on both sides of the list: a worker that began or ended meanwhile is neither without a record nor without a program.
    const before = await this.#own();
    const instances = (await compute.list()).filter(({ kind }) => kind === "worker");
    const after = await this.#own();
    for (const instance of instances) {
      const worker = after.get(instance.id);
      if (this.#tended.has(instance.id)) continue;
      if (!worker || worker.doc.state === "FAILED") await this.#removeUnknown(instance);
      else if (instance.state === "exited") this.#noticed(instance);
      else if (worker.doc.state === "PLACED") await this.#adopt(worker, instance);
      else await this.#takeUp(await this.#freezer.learn(worker, instance.state, !this.#recovered));
    }
    this.#recovered = true;
    const listed = new Set(instances.map(({ id }) => id));
    for (const worker of before.values()) {
      const isThere = listed.has(worker.id) || !after.has(worker.id) || this.#tended.has(worker.id);
      if (hasProgram(worker) && !isThere) await this.#vanished(worker);
    }
  }

  /** A job waits for this frozen worker. Should the server end before that is on record, the next one puts it right. */
  thaw(id: string): Promise<void> {
    this.#freezer.need(id);
    return this.tend(id);
  }

  /**
   * What time alone brings: boots that take too long, drained workers whose job has ended, workers that fell silent or are held up.
   * `heard` has those that were heard of lately.
   */
  async tick(now: number, heard: ReadonlyMap<string, HolderState>): Promise<void> {
    for (const worker of (await this.#own()).values()) {
      const { id, doc } = worker;
      if (doc.state === "PLACED" || doc.state === "DRAINING" || !this.#freezer.isSettled(worker))
        this.#background(this.tend(id));
      // Load-balanced ones do not ask: their health is asked for.
      const isAsked = this.#parts.rotation.has(id);
      const holder = heard.get(id);
      if (doc.state === "STARTING" && !isAsked && holder) await this.answered(id);
      const silentMs = isAsked ? 0 : this.#patience.silentMs(worker, now, holder);
      if (await this.#hindrances.look(worker, silentMs)) this.#background(this.tend(id));
      const patience = () => this.#patience.overWith(worker, now, holder);
      const reason = isAsked ? (this.#freezer.overdue(id) ?? this.#hindrances.overdue(id)) : await patience();
      if (reason !== undefined) this.#background(this.giveUp(id, reason));
    }
  }

  /** The worker asked for work for the first time, or for the first time after its thaw. */
  async answered(id: string): Promise<void> {
    const worker = await this.#find(id);
    if (worker) this.#freezer.heard(worker);
    if (!worker || !workerLifecycle.can(worker.doc.state, "answer")) return;
    const { clock, records, workerLog, changed, desk, warmUps } = this.#parts;
    const { warmUp } = worker.doc;
    if (await warmUps.isDue(worker)) {
      if (!warmUp || warmUp.isLost) desk.lookAgain(callOf(worker));
      return;
    }
    if (warmUp?.ended?.failed) return this.#fail(worker, `warm-up failed: ${warmUp.ended.said}`);
    const readyAt = clock.now();
    if (!(await records.move(worker, "answer", { readyAt }))) return;
    desk.lookAgain(callOf(worker));
    if (warmUp?.ended) workerLog.say(worker, `warmed up in ${warmUp.ended.at - warmUp.since} ms: ${warmUp.ended.said}`);
    workerLog.say(worker, `ready ${this.#booter.times.tell(worker, readyAt)}`);
    changed(worker.doc.endpoint);
  }

  /** It is ended as soon as nothing else is being done with it. */
  giveUp(id: string, reason: string): Promise<void> {
    this.#givenUp.set(id, reason);
    return this.tend(id);
  }

  /** Ends a worker at once; its record says why until a healthy one has taken its place. */
  async #fail(worker: WorkerItem, reason: string, how = "failed"): Promise<void> {
    const { id } = worker;
    if (!workerLifecycle.can(worker.doc.state, "fail")) return this.#forget(id);
    const { workerLog, records, clock, changed, log, rotation } = this.#parts;
    const isBalanced = rotation.has(id);
    workerLog.say(worker, `failed: ${reason}`);
    log.warn({ endpoint: worker.doc.endpoint, worker: id, reason: withoutItsWords(reason) }, "a worker failed");
    await this.#clear(worker, how);
    const failedAt = clock.now();
    const failed = await records.insist(worker, "fail", { reason, failedAt, keyId: null });
    const { readyAt, hindrance } = worker.doc;
    const wellMs = (hindrance?.since ?? failedAt) - (readyAt ?? failedAt);
    // A worker that ran well for a while says nothing about the start of the next one.
    if (failed && isProven(isBalanced ? "LOAD_BALANCER" : "QUEUE", wellMs)) await records.remove(id);
    changed(worker.doc.endpoint);
  }

  /** Ends every worker of this machine, or of one endpoint on it, whatever it is doing. */
  async endAll(endpoint?: string): Promise<void> {
    const { compute } = this.#parts;
    const ofEndpoint = (owner: string) => endpoint === undefined || owner === endpoint;
    const own = [...(await this.#own()).values()].filter(({ doc }) => ofEndpoint(doc.endpoint));
    await eachOf(own, ENDS_AT_ONCE, (worker) => this.#end(worker, { graceMs: DELETED_GRACE_MS }));
    const left = (await compute.list()).filter(({ kind, owner }) => kind === "worker" && ofEndpoint(owner));
    await eachOf(left, ENDS_AT_ONCE, (instance) => this.#removeUnknown(instance));
  }

  /** Nothing more is begun; each worker gets a moment for the jobs it has, which else go back, and ends. */
  async shutDown(): Promise<void> {
    this.#closed = true;
    this.#stopWatching();
    await Promise.all([...(await this.#own()).values()].map((worker) => this.#endGently(worker)));
    await Promise.all([...this.#tended.values()].map(({ over }) => over));
    // What a boot that was under way has left.
    await this.endAll();
  }

  async #endGently(worker: WorkerItem): Promise<void> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonic() + LAST_JOB_MS;
    while ((await this.#isBusy(worker)) && clock.monotonic() < untilMs) await sleep(clock, LOOK_MS);
    await this.#end(worker, { graceMs: DELETED_GRACE_MS, orderly: true });
  }

  async #rounds(id: string, entry: { again: boolean }): Promise<void> {
    do {
      entry.again = false;
      const worker = await this.#find(id);
      if (worker) await this.#round(worker);
      else this.#forget(id);
    } while (entry.again && !this.#closed);
  }

  async #round(worker: WorkerItem): Promise<void> {
    const exit = this.#exits.get(worker.id)?.exit;
    const reason = this.#givenUp.get(worker.id);
    if (worker.doc.state === "DRAINING") return this.#finish(worker, exit !== undefined);
    if (exit) return this.#failed(worker, exitText(exit));
    if (reason !== undefined) return this.#fail(worker, reason);
    if (this.#closed) return;
    if (worker.doc.state === "PLACED") return this.#boot(worker);
    if (worker.doc.state === "STARTING" && worker.doc.warmUp) return this.answered(worker.id);
    try {
      await this.#freezer.settle(worker);
    } catch (error) {
      if (!(error instanceof CannotThaw)) throw error;
      await this.#fail(worker, error.message);
    }
  }

  async #failed(worker: WorkerItem, how: string): Promise<void> {
    const { workerLog } = this.#parts;
    await workerLog.ended(worker);
    const reason = this.#givenUp.get(worker.id) ?? (await workerLog.ending(worker, how));
    await this.#fail(worker, reason, `ended (${how})`);
  }

  async #boot(worker: WorkerItem): Promise<void> {
    const endpoint = await this.#parts.endpoint(worker.doc.endpoint);
    // Of an older release, or of no endpoint any more: the plan ends it.
    if (endpoint?.doc.release !== worker.doc.release) return;
    try {
      const booted = await this.#booter.boot(worker, endpoint, () => this.#closed);
      if (booted) await this.#runs(booted, endpoint);
    } catch (error) {
      await this.#fail(worker, `${BOOT_FAILED}${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #runs({ started, keyed, env }: Booted, endpoint: Item<KeptEndpoint>): Promise<void> {
    const { workerLog, rotation, desk } = this.#parts;
    if (started) {
      workerLog.follow(started);
      if (endpoint.doc.type === "LOAD_BALANCER") rotation.join({ endpoint: endpoint.id, worker: started.id, env });
    } else if (!(await this.#find(keyed.id))) await this.#clear(keyed, "was not wanted any more");
    // A quick one has asked before its start was on record.
    if (desk.activeAt(callOf(keyed).worker) !== undefined) await this.answered(keyed.id);
  }

  /** Its program was started by a process that could not say so any more. */
  async #adopt(worker: WorkerItem, { startedAt }: Instance): Promise<void> {
    const started = await this.#parts.records.move(worker, "start", { startedAt });
    if (started) await this.#takeUp(started);
  }

  /** One that a process before this one started: its lines are read and, where requests go to it, its health is asked for. */
  async #takeUp(worker: WorkerItem): Promise<void> {
    this.#parts.workerLog.follow(worker);
    const isAsked = worker.doc.state === "STARTING" || worker.doc.state === "READY";
    if (isAsked && !this.#parts.rotation.has(worker.id)) await this.#join(worker);
  }

  /** Where requests go to its endpoint's workers, it gets some as soon as it is well. */
  async #join(worker: WorkerItem): Promise<void> {
    const { rotation, endpoint: endpointOf, reveal } = this.#parts;
    const endpoint = await endpointOf(worker.doc.endpoint);
    if (endpoint?.doc.type !== "LOAD_BALANCER") return;
    const env = await resolveEnv(endpoint.account, endpoint.doc.env, reveal);
    rotation.join({ endpoint: endpoint.id, worker: worker.id, env, wasReady: worker.doc.state === "READY" });
  }

  async #lookAt(id: string): Promise<void> {
    const worker = await this.#find(id);
    if (worker) await this.#hindrances.look(worker);
  }

  /** Whether it has anything to end, of which it gets no more. */
  async #isBusy(worker: WorkerItem): Promise<boolean> {
    const { rotation, desk } = this.#parts;
    return rotation.has(worker.id) ? rotation.drain(worker.id) : desk.drain(callOf(worker));
  }

  async #finish(worker: WorkerItem, hasExited: boolean): Promise<void> {
    const { workerLog } = this.#parts;
    if (!hasExited && (await this.#isBusy(worker))) return;
    workerLog.say(worker, `ending: ${worker.doc.reason ?? "no longer needed"}`);
    // One that does not stop its job by a word does not end by one either.
    await this.#end(worker, { graceMs: worker.doc.hindrance?.kind === "overrun" ? DELETED_GRACE_MS : STOP_GRACE_MS });
  }

  /** Stops it, leaves nothing of it, and forgets it. */
  async #end(worker: WorkerItem, { graceMs = STOP_GRACE_MS, orderly = false } = {}): Promise<void> {
    const { compute, records, changed } = this.#parts;
    await this.#within(STOP_LIMIT_MS, compute.stop(worker.id, graceMs));
    await this.#clear(worker, "was ended", orderly);
    await records.remove(worker.id);
    if (!(await this.#parts.endpoint(worker.doc.endpoint))) await this.#parts.workerLog.remove(worker);
    changed(worker.doc.endpoint);
  }

  /** Nothing of it runs or counts any more: its program, its hold on jobs, its key. */
  async #clear(worker: WorkerItem, how: string, orderly = false): Promise<void> {
    const { compute, desk, keys, workerLog, rotation } = this.#parts;
    rotation.leave(worker.id, how);
    await compute.remove(worker.id);
    await workerLog.ended(worker);
    await desk.ended(callOf(worker), how, orderly);
    const { keyId } = (await this.#find(worker.id))?.doc ?? worker.doc;
    if (keyId !== null) await keys.revoke(keyId);
    this.#forget(worker.id);
  }

  #forget(id: string): void {
    this.#booter.giveUp(id);
    for (const known of [this.#exits, this.#givenUp]) known.delete(id);
    for (const known of [this.#booter.times, this.#freezer, this.#patience]) known.forget(id);
  }

  async #removeUnknown({ id, owner }: Instance): Promise<void> {
    this.#parts.log.warn({ endpoint: owner, worker: id }, "a worker without a record was removed");
    await this.#parts.compute.remove(id);
    await this.#parts.desk.ended({ endpoint: owner, worker: holderName(owner, id) });
  }

  /** It ended while nobody looked: with its machine, or before this process began. That says nothing about its release. */
  async #vanished(worker: WorkerItem): Promise<void> {
    this.#parts.workerLog.say(worker, "ended while the server was away");
    await this.#clear(worker, "vanished");
    await this.#parts.records.remove(worker.id);
    this.#parts.changed(worker.doc.endpoint);
  }

  #noticed(instance: Instance): void {
    if (instance.kind !== "worker" || instance.state !== "exited") return;
    this.#exits.set(instance.id, instance);
    // Requests that wait for its answer are told at once, and how it ended.
    this.#parts.rotation.leave(instance.id, instance.exit ? exitText(instance.exit) : "ended");
    this.#background(this.tend(instance.id));
  }

  async #own(): Promise<Map<string, WorkerItem>> {
    return new Map((await this.#parts.records.ofMachine(this.#parts.machine)).map((worker) => [worker.id, worker]));
  }

  async #find(id: string): Promise<WorkerItem | undefined> {
    return (await this.#own()).get(id);
  }

  async #within(limitMs: number, work: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(limitMs, late.resolve);
    await Promise.race([work, late.promise]);
    timer.cancel();
  }
}

const hasProgram = ({ doc }: WorkerItem) => doc.startedAt !== null && doc.state !== "FAILED";
