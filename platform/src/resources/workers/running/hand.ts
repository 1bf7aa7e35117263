/** What the keeper of a machine does with workers: boots with a key, jobs and health, freezing, and counting failures. */
import { holderName } from "../../../jobs/holder.ts";
import { eachOf } from "../../../kernel/bounded.ts";
import { sleep } from "../../../kernel/clock.ts";
import { named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import { because, plainText, type Reason, reworded, saying } from "../../../kernel/reason.ts";
import { failedStart, isAway } from "../../../machines/failed-start.ts";
import { exitReason, exitText } from "../../../machines/instance-log.ts";
import type { Hand, Keeper } from "../../../machines/keeper.ts";
import { DriverAway, type Exit, type Instance, PlaceGone } from "../../../ports/compute/compute.ts";
import type { HolderState } from "../../../ports/queue/queue.ts";
import type { Item } from "../../../ports/store/collection.ts";
import type { KeptEndpoint } from "../../endpoints/model.ts";
import { type KeptWorker, workerLifecycle } from "../model.ts";
import { byId, type WorkerItem } from "../records.ts";
import { type Booted, Booter } from "./booter.ts";
import { isProven } from "./brake.ts";
import { callOf } from "./call.ts";
import { CalmWorkers } from "./calm.ts";
import { CannotThaw, Freezer } from "./freezer.ts";
import type { WorkerHandParts } from "./hand-parts.ts";
import { Hindrances } from "./hindrances.ts";
import { joinRotation } from "./joining.ts";
import { Patience } from "./patience.ts";
import { Rotation } from "./rotation.ts";
import { Unbegun } from "./unbegun.ts";

/** A program that never got ready is not charged. */
const FAILED_START = "failed start";
/** A worker without jobs needs no longer than this to end by itself. */
const STOP_GRACE_MS = 5000;
/** A worker whose jobs are gone gets less time, because somebody waits for its end. */
const DELETED_GRACE_MS = 1000;
/** Ending more at once would take longer: ending a worker is mostly waiting, but not only. */
const ENDS_AT_ONCE = 64;
/** How long a worker may continue its job when the server ends, and how often that is checked. */
const LAST_JOB_MS = 5000;
const LOOK_MS = 100;

export class WorkerHand implements Hand<KeptWorker> {
  readonly kind = "worker";
  readonly #parts: WorkerHandParts;
  readonly #keeper: Keeper;
  readonly #rotation: Rotation;
  readonly #booter: Booter;
  readonly #freezer: Freezer;
  readonly #patience: Patience;
  readonly #hindrances: Hindrances;
  readonly #calm: CalmWorkers;
  readonly #unbegun: Unbegun;
  readonly #givenUp = new Map<string, Reason>();
  /** Workers that are being ended here. Their records may not say so until that is done. */
  readonly #ending = new Set<string>();
  /** When programs were ended whose records could not be removed, since the database was away. */
  readonly #endedAt = new Map<string, number>();

  constructor(parts: WorkerHandParts) {
    this.#parts = parts;
    this.#keeper = parts.keeper;
    this.#rotation = new Rotation({
      ...parts,
      dial: (worker, port) => parts.compute.dial(worker, port),
      told: {
        ready: (id) => this.#background(this.answered(id)),
        failed: (id, reason) => this.#background(this.giveUp(id, reason)),
        drained: (id) => this.#background(this.tend(id)),
        ailing: (id) => this.#background(this.#lookAt(id)),
      },
    });
    const rotation = this.#rotation;
    this.#booter = new Booter(parts);
    this.#freezer = new Freezer({ ...parts, rotation, goesOn: (worker) => this.#join(worker) });
    this.#patience = new Patience({ ...parts, freezer: this.#freezer });
    this.#hindrances = new Hindrances({ ...parts, rotation });
    this.#calm = new CalmWorkers({ ...parts, rotation, freezer: this.#freezer, hindrances: this.#hindrances });
    this.#unbegun = new Unbegun({
      ...parts,
      find: (id) => this.#find(id),
      clear: (worker, how) => this.#clear(worker, how),
      letGo: (worker, how) => this.#letGo(worker, how),
    });
  }

  #background(work: Promise<void>): void {
    floating(work, named(this.#parts.failed, "tend workers"));
  }

  /** Brings a worker to the state in its record, now or right after the work on it that is under way. */
  tend(id: string): Promise<void> {
    return this.#keeper.tend(this.kind, id);
  }

  /** Thaws a worker that a job waits for. If the server ends before that is recorded, the next server corrects the record. */
  thaw(id: string): Promise<void> {
    this.#freezer.need(id);
    return this.tend(id);
  }

  /**
   * Handles what depends on time: slow boots, drained workers whose jobs ended, and workers that are silent or hindered. `listen` returns
   * the workers that were heard of lately. It is asked only if a worker needs a look.
   */
  async tick(now: number, listen: () => Promise<ReadonlyMap<string, HolderState>>): Promise<void> {
    const due = this.#calm.others(await this.#onRecord());
    const heard = due.length > 0 ? await listen() : undefined;
    for (const worker of due) {
      const { id, doc } = worker;
      if (doc.state === "PLACED" || doc.state === "DRAINING" || !this.#freezer.isSettled(worker))
        this.#background(this.tend(id));
      // Load-balanced workers do not ask for work. The platform checks their health instead.
      const [isAsked, holder] = [this.#rotation.has(id), heard?.get(callOf(worker).worker)];
      if (doc.state === "STARTING" && !isAsked && holder) await this.answered(id);
      const silentMs = isAsked ? 0 : this.#patience.silentMs(worker, now, holder);
      if (this.#calm.note(worker, holder, silentMs)) {
        this.#patience.forget(id);
        continue;
      }
      if (await this.#hindrances.look(worker, silentMs)) this.#background(this.tend(id));
      const patience = () => this.#patience.overWith(worker, now, holder);
      const reason = isAsked ? (this.#freezer.overdue(id) ?? this.#hindrances.overdue(id)) : await patience();
      if (reason !== undefined) this.#background(this.giveUp(id, reason));
    }
  }

  /** The worker asked for work for the first time since its start or its thaw. */
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
    if (warmUp?.ended?.failed) return this.#fail(worker, because("warm-up-failed", {}, warmUp.ended.said));
    const readyAt = clock.now();
    if (!(await records.move(worker, "answer", { readyAt }))) return;
    desk.lookAgain(callOf(worker));
    if (warmUp?.ended) workerLog.say(worker, `warmed up in ${warmUp.ended.at - warmUp.since} ms: ${warmUp.ended.said}`);
    workerLog.say(worker, `ready ${this.#booter.times.tell(worker, readyAt)}`);
    changed(worker.doc.owner);
  }

  /** Ends the worker as soon as nothing else is being done with it. */
  giveUp(id: string, reason: Reason): Promise<void> {
    this.#givenUp.set(id, reason);
    return this.tend(id);
  }

  /** Ends a worker at once. Its record keeps the reason until a healthy worker has taken its place. */
  async #fail(worker: WorkerItem, reason: Reason, how = "failed"): Promise<void> {
    const { id } = worker;
    if (!workerLifecycle.can(worker.doc.state, "fail")) return this.forget(id);
    const { workerLog, records, clock, changed, log } = this.#parts;
    const isBalanced = this.#rotation.has(id);
    workerLog.say(worker, `failed: ${reason.text}`);
    const about = { endpoint: worker.doc.owner, worker: id, code: reason.code, reason: plainText(reason) };
    log.warn(about, "a worker failed");
    const endedAt = this.#keeper.exitOf(id)?.at;
    await this.#clear(worker, how);
    const failedAt = clock.now();
    const { readyAt, hindrance } = worker.doc;
    const metered = { at: endedAt ?? failedAt, ...(readyAt === null && { free: FAILED_START }) };
    const failed = await records.insist(worker, "fail", { reason, failedAt, keyId: null }, metered);
    const wellMs = (hindrance?.since ?? failedAt) - (readyAt ?? failedAt);
    // The failure of a worker that was healthy for a while says nothing about the next start, so it is not kept.
    if (failed && isProven(isBalanced ? "LOAD_BALANCER" : "QUEUE", wellMs)) await records.remove(id);
    changed(worker.doc.owner);
  }

  /** Ends every worker of this machine, or those of one endpoint, whatever they are doing. */
  async endAll(endpoint?: string): Promise<void> {
    const ofEndpoint = (owner: string) => endpoint === undefined || owner === endpoint;
    const own = [...(await this.own()).values()].filter(({ doc }) => ofEndpoint(doc.owner));
    await eachOf(own, ENDS_AT_ONCE, (worker) => this.#end(worker, { graceMs: DELETED_GRACE_MS }));
    const left = (await this.#parts.compute.list()).filter(({ kind, owner }) => kind === "worker" && ofEndpoint(owner));
    await eachOf(left, ENDS_AT_ONCE, (instance) => this.#keeper.removeUnknown(instance));
  }

  /** Gives each worker a moment for its jobs and then ends it. Unfinished jobs go back to the queue. */
  async close(): Promise<void> {
    await Promise.all([...(await this.own()).values()].map((worker) => this.#endGently(worker)));
    await this.#keeper.settled();
    // Ends what a boot that was under way has left.
    await this.endAll();
    this.#rotation[Symbol.dispose]();
  }

  async #endGently(worker: WorkerItem): Promise<void> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonic() + LAST_JOB_MS;
    while ((await this.#isBusy(worker)) && clock.monotonic() < untilMs) await sleep(clock, LOOK_MS);
    await this.#end(worker, { graceMs: DELETED_GRACE_MS, orderly: true });
  }

  async round(worker: WorkerItem): Promise<void> {
    const exit = this.#keeper.exitOf(worker.id);
    // The program ends because it was told to, which is not a failure.
    if (this.#ending.has(worker.id)) return;
    const reason = this.#givenUp.get(worker.id);
    if (worker.doc.state === "DRAINING") return this.#finish(worker, exit !== undefined);
    if (exit?.isLost) return this.#lost(worker, exit);
    if (exit) return this.#failed(worker, exitReason(exit));
    const refusal = this.#keeper.refusalOf(worker.id);
    if (refusal && worker.doc.state === "PLACED") return this.#cannotBegin(worker, refusal);
    if (reason !== undefined) return this.#fail(worker, reason);
    if (this.#keeper.isClosed) return;
    if (worker.doc.state === "PLACED") return this.#boot(worker);
    if (worker.doc.state === "STARTING" && worker.doc.warmUp) return this.answered(worker.id);
    try {
      await this.#freezer.settle(worker);
    } catch (error) {
      if (!(error instanceof CannotThaw)) throw error;
      await this.#fail(worker, error.reason);
    }
  }

  async #failed(worker: WorkerItem, how: Reason): Promise<void> {
    const { workerLog } = this.#parts;
    // A program may end before its start is recorded. Then nobody has read its output yet.
    workerLog.follow(worker);
    await workerLog.ended(worker);
    const reason = this.#givenUp.get(worker.id) ?? (await workerLog.ending(worker, how));
    await this.#fail(worker, reason, `ended (${how.text})`);
  }

  async #boot(worker: WorkerItem): Promise<void> {
    const endpoint = await this.#parts.endpoint(worker.doc.owner, worker.doc.release);
    // The worker belongs to an older release or to no endpoint any more, so the plan ends it.
    if (endpoint?.doc.release !== worker.doc.release) return;
    try {
      // Without a key it never reached the driver.
      const begun = worker.doc.keyId === null ? undefined : await this.#keeper.runningNow(worker);
      if (begun) return await this.adopt(worker, begun);
      const booted = await this.#booter.boot(worker, endpoint, () => this.#keeper.isClosed);
      if (booted?.accepted) await this.#keeper.accepted(booted.accepted);
      else if (booted) await this.#runs(booted, endpoint);
    } catch (error) {
      if (isAway(error)) throw error;
      if (error instanceof DriverAway) return this.#unbegun.away(worker, endpoint, failedStart(error));
      this.#parts.log.warn({ err: error, worker: worker.id }, "a worker could not be started");
      await this.#cannotBegin(worker, error);
    }
  }

  async #cannotBegin(worker: WorkerItem, error: unknown): Promise<void> {
    if (error instanceof PlaceGone) return this.#unbegun.unplace(worker, error.message);
    const reason = reworded(failedStart(error), (text) => `boot failed: ${text}`);
    await this.#fail(worker, reason);
  }

  async #runs({ started, keyed, env }: Booted, endpoint: Item<KeptEndpoint>): Promise<void> {
    const { workerLog, desk } = this.#parts;
    if (started) {
      workerLog.follow(started);
      if (endpoint.doc.type === "LOAD_BALANCER")
        this.#rotation.join({ endpoint: endpoint.id, worker: started.id, env });
    } else if (!(await this.#find(keyed.id))) await this.#clear(keyed, "was no longer needed");
    // A fast worker may ask for work before its start is recorded.
    if (desk.activeAt(callOf(keyed).worker) !== undefined) await this.answered(keyed.id);
  }

  waits({ id }: WorkerItem, why: string): Promise<void> {
    return this.#unbegun.waitFor(id, saying("driver-waits", why));
  }

  async adopt(worker: WorkerItem, { startedAt, devices }: Instance): Promise<void> {
    const { records, desk } = this.#parts;
    this.#booter.times.began(worker.id, startedAt);
    const set = { startedAt, reason: null, ...(devices && { devices }) };
    const started = await records.move(worker, "start", set);
    if (started) await this.#follow(started);
    // A fast worker may ask for work before its start is recorded.
    if (started && desk.activeAt(callOf(worker).worker) !== undefined) await this.answered(worker.id);
  }

  async takeUp(worker: WorkerItem, { state }: Instance, isRecovery: boolean): Promise<void> {
    await this.#follow(await this.#freezer.learn(worker, state, isRecovery));
  }

  staysTakenUp({ doc }: WorkerItem, { state }: Instance): boolean {
    return doc.state === "READY" && state === "running";
  }

  /** Follows a program that this process did not see begin: reads its output and, if it is load-balanced, checks its health. */
  async #follow(worker: WorkerItem): Promise<void> {
    this.#parts.workerLog.follow(worker);
    const isAsked = worker.doc.state === "STARTING" || worker.doc.state === "READY";
    if (isAsked && !this.#rotation.has(worker.id)) await this.#join(worker);
  }

  #join(worker: WorkerItem): Promise<void> {
    return joinRotation(worker, { ...this.#parts, rotation: this.#rotation });
  }

  async #lookAt(id: string): Promise<void> {
    const worker = await this.#find(id);
    if (worker) await this.#hindrances.look(worker);
  }

  /** Whether the worker still has work to finish. From now on it gets no more. */
  async #isBusy(worker: WorkerItem): Promise<boolean> {
    return this.#rotation.has(worker.id) ? this.#rotation.drain(worker.id) : this.#parts.desk.drain(callOf(worker));
  }

  async #finish(worker: WorkerItem, hasExited: boolean): Promise<void> {
    if (!hasExited && (await this.#isBusy(worker))) return;
    this.#parts.workerLog.say(worker, `ending: ${worker.doc.reason?.text ?? "no longer needed"}`);
    // A worker that did not stop its lost job when told to will not end when told to either, so it gets less time.
    await this.#end(worker, { graceMs: worker.doc.hindrance?.kind === "overrun" ? DELETED_GRACE_MS : STOP_GRACE_MS });
  }

  /** Stops the worker, removes everything of it, and forgets it. */
  async #end(worker: WorkerItem, { graceMs = STOP_GRACE_MS, orderly = false } = {}): Promise<void> {
    const { records, changed, clock } = this.#parts;
    this.#ending.add(worker.id);
    try {
      const at = (await this.#keeper.end(worker.id, graceMs)) ?? this.#endedAt.get(worker.id) ?? clock.now();
      this.#endedAt.set(worker.id, at);
      await this.#clear(worker, "was ended", orderly);
      await records.remove(worker.id, { at });
      this.#endedAt.delete(worker.id);
    } finally {
      this.#ending.delete(worker.id);
    }
    if (!(await this.#parts.endpoint(worker.doc.owner))) await this.#parts.workerLog.remove(worker);
    changed(worker.doc.owner);
  }

  /** Removes the program, its hold on jobs and its key. */
  async #clear(worker: WorkerItem, how: string, orderly = false): Promise<void> {
    this.#rotation.leave(worker.id, how);
    await this.#parts.compute.remove(worker.id);
    await this.#parts.workerLog.ended(worker);
    await this.#letGo(worker, how, orderly);
  }

  async #letGo(worker: WorkerItem, how: string, orderly = false): Promise<void> {
    const { desk, keys } = this.#parts;
    await desk.ended(callOf(worker), how, orderly);
    const { doc: kept } = (await this.#find(worker.id)) ?? worker;
    if (kept.keyId !== null) await keys.revoke(kept.keyId);
    await desk.gone(callOf(worker));
    this.forget(worker.id);
  }

  forget(id: string): void {
    this.#parts.starter.giveUp(id);
    this.#givenUp.delete(id);
    for (const known of [this.#keeper, this.#booter.times, this.#freezer, this.#patience, this.#calm]) known.forget(id);
  }

  async removed({ id, owner }: Instance): Promise<void> {
    await this.#parts.desk.ended({ endpoint: owner, worker: holderName(owner, id) });
  }

  /** The machine took the worker's place away. Another worker starts where there is room. */
  async #lost(worker: WorkerItem, exit: Exit): Promise<void> {
    this.#parts.workerLog.say(worker, `ended: ${exit.reason ?? "its place was taken from it"}`);
    await this.#clear(worker, exitText(exit));
    await this.#parts.records.remove(worker.id, { at: exit.at });
    this.#parts.changed(worker.doc.owner);
  }

  /** The program ended with its machine, or before this process began. That says nothing about its release. */
  async vanished(worker: WorkerItem, lastSeenAt = 0): Promise<void> {
    this.#parts.workerLog.say(worker, "ended while the server was away");
    await this.#clear(worker, "vanished");
    await this.#parts.records.remove(worker.id, { at: this.#endedAt.get(worker.id) ?? lastSeenAt });
    this.#endedAt.delete(worker.id);
    this.#parts.changed(worker.doc.owner);
  }

  /** Requests that wait for the worker's answer learn at once how it ended. */
  exited({ id, exit }: Instance): void {
    this.#rotation.leave(id, exit ? exitText(exit) : "ended");
  }

  async own(): Promise<ReadonlyMap<string, WorkerItem>> {
    return byId(await this.#onRecord());
  }

  async #onRecord(): Promise<readonly WorkerItem[]> {
    return this.#keeper.isHeld ? this.#parts.records.ofMachine(this.#parts.machine) : [];
  }

  async #find(id: string): Promise<WorkerItem | undefined> {
    return this.#keeper.isHeld ? this.#parts.records.findOn(this.#parts.machine, id) : undefined;
  }
}
