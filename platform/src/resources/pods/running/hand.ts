/** What the keeper of a machine does with Pods: boots, restarts and ends them, and removes what they left. */

import { type Failed, named } from "../../../kernel/failed.ts";
import { floating } from "../../../kernel/floating.ts";
import type { Log } from "../../../kernel/log.ts";
import { OneAtATime } from "../../../kernel/one-at-a-time.ts";
import { because, plainText, type Reason, reworded, saying } from "../../../kernel/reason.ts";
import { failedStart, isAway } from "../../../machines/failed-start.ts";
import { exitReason, exitText, type InstanceLog } from "../../../machines/instance-log.ts";
import type { Hand, Keeper } from "../../../machines/keeper.ts";
import { DriverAway, type Exit, type Instance, PlaceGone, StartRefused } from "../../../ports/compute/compute.ts";
import type { KeptPodInstance, PodInstance } from "../instance.ts";
import { podLifecycle } from "../lifecycle.ts";
import type { PodChange, PodItem, PodRecords } from "../records.ts";
import { isDue, mayCrash, mayRun, running } from "./allowed.ts";
import { PodBooter, type PodBooterParts } from "./booter.ts";
import { afterCrash, MOST_RESTARTS } from "./brake.ts";
import { Clearing, type ClearingParts } from "./clearing.ts";
import { Forming, type FormingParts } from "./forming.ts";
import { Waiting } from "./waiting.ts";

export interface PodHandParts extends PodBooterParts, ClearingParts, Pick<FormingParts, "elsewhere"> {
  keeper: Keeper;
  log: Log;
  failed: Failed;
  /** Called when a Pod left its place, so there may be room for others. */
  left: () => void;
}

const STOP_GRACE_MS = 10_000;
/** A Pod that found no room on its machine is not placed again before this time. The driver would only refuse again. */
const PLACE_AGAIN_MS = 10_000;
/** This is short, because somebody waits for the fresh boot. */
const RESTART_GRACE_MS = 5000;

export class PodHand implements Hand<KeptPodInstance> {
  readonly kind = "pod";
  readonly #parts: PodHandParts;
  readonly #keeper: Keeper;
  readonly #booter: PodBooter;
  readonly #forming: Forming;
  readonly #clearing: Clearing;
  readonly #clearings = new OneAtATime();
  readonly #waiting: Waiting;

  constructor(parts: PodHandParts) {
    this.#parts = parts;
    this.#keeper = parts.keeper;
    this.#booter = new PodBooter(parts);
    this.#forming = new Forming(parts);
    this.#clearing = new Clearing(parts);
    this.#waiting = new Waiting(parts.podRecords, parts.compute);
  }

  get #records(): PodRecords {
    return this.#parts.podRecords;
  }

  get #log(): InstanceLog<KeptPodInstance> {
    return this.#parts.podLog;
  }

  tend(id: string): Promise<void> {
    return this.#keeper.tend(this.kind, id);
  }

  /** Handles what depends on time: restarts that are due, and work that could not be done before. */
  async tick(): Promise<void> {
    for (const { id, doc } of (await this.own()).values())
      if (doc.state !== "RUNNING") floating(this.tend(id), named(this.#parts.failed, "tend Pods"));
  }

  /** Removes what terminated Pods have left on the machine. */
  clear(): Promise<void> {
    return this.#clearings.run(async () => {
      if (!this.#keeper.isClosed && this.isHeld) await this.#clearing.clear();
    });
  }

  /** Programs keep running. The next process finds them. */
  async close(): Promise<void> {
    this.#forming.close();
    for (const id of (await this.own()).keys()) this.#parts.starter.giveUp(id);
    await this.#clearings.over;
    await this.#keeper.settled();
    const { size } = await this.own();
    if (size > 0) this.#parts.log.info({ pods: size }, "Pods continue to run without the server");
  }

  /** Whether this node may act on the machine. */
  get isHeld(): boolean {
    return this.#keeper.isHeld;
  }

  async own(): Promise<Map<string, PodInstance>> {
    const own = this.#keeper.isHeld ? await this.#records.ofMachine(this.#parts.machine) : [];
    return new Map(own.map((item) => [item.id, item]));
  }

  async round(item: PodInstance): Promise<void> {
    const pod = await this.#records.pods.get(item.doc.owner);
    const { state } = item.doc;
    if (pod?.doc.instance !== item.id || state === "ENDING") return this.#end(item, pod);
    const exit = this.#keeper.exitOf(item.id);
    if (exit && (state === "RUNNING" || state === "PLACED")) return this.#ended(item, pod, exit);
    const refusal = this.#keeper.refusalOf(item.id);
    if (refusal && state === "PLACED") return this.#refused(item, refusal);
    if (this.#keeper.isClosed) return;
    if (refusal && state === "CRASHED") return this.#anew(item, refusal);
    if (state === "RESTARTING") return this.#bootAfresh(item);
    if (state === "CRASHED" && isDue(pod, this.#parts.clock)) return this.#bootAgain(item, pod);
    if (state === "PLACED") return this.#boot(item, pod);
  }

  async #boot(item: PodInstance, pod: PodItem): Promise<void> {
    const isKnownAway = pod.doc.reason?.code === "engine-away";
    const hindrance = (isKnownAway ? await this.#waiting.awayNow(item) : undefined) ?? this.#parts.refusal?.();
    if (hindrance !== undefined) return this.#waiting.for(pod, hindrance);
    try {
      // Without a key it never reached the driver.
      const begun = item.doc.keyId === null ? undefined : await this.#keeper.runningNow(item);
      if (begun) return await this.#runs(item, begun);
      const lacking = await this.#booter.hindrance(pod);
      if (lacking !== undefined) return await this.#waiting.for(pod, lacking);
      const instance = await this.#booter.boot(item, pod, () => this.#keeper.isClosed);
      if (!instance) return;
      if (instance.state !== "pending") {
        // Its output is read while the record is written. The record counts this boot too.
        this.#log.follow({ ...item, doc: { ...item.doc, boots: item.doc.boots + 1 } });
        await this.#runs(item, instance);
      }
      if (instance.state !== "running") await this.#keeper.accepted(instance);
    } catch (error) {
      if (isAway(error)) throw error;
      if (error instanceof DriverAway) return this.#waiting.now(item, failedStart(error));
      // The log has the full error. Accounts see less of it: no paths of the server's files.
      this.#parts.log.warn({ err: error, pod: pod.id }, "a Pod could not be started");
      await this.#cannotBegin(item, error);
    }
  }

  /** The driver accepted the program and then refused to start it. */
  async #refused(item: PodInstance, refusal: StartRefused): Promise<void> {
    if (!this.#booter.isAvoidable(item, refusal)) return this.#cannotBegin(item, refusal);
    await this.#parts.compute.remove(item.id);
    this.#keeper.forget(item.id);
    this.#again(item.id);
  }

  async #cannotBegin(item: PodInstance, error: unknown): Promise<void> {
    if (!(error instanceof PlaceGone)) return this.#fail(item, failedStart(error));
    const reason = because("no-capacity", { need: error.message, lacks: "place" });
    await this.#unplace(item, reason, { againInMs: PLACE_AGAIN_MS });
  }

  /** The Pod waits for room again. What it stored on its machine is there when it comes back. */
  async #unplace(item: PodInstance, reason: Reason, { at, againInMs = 0 }: { at?: number; againInMs?: number }) {
    const { clock } = this.#parts;
    this.#log.say(item, reason.text);
    await this.#change(item, (pod) => {
      if (!podLifecycle.can(pod.doc.status, "unplace")) return undefined;
      const crashes = { count: pod.doc.crashes?.count ?? 0, startsAgainAt: clock.now() + againInMs };
      return { move: "unplace", set: { reason, instance: null, crashes }, instance: { move: "end", metered: { at } } };
    });
    this.#again(item.id);
  }

  /** Restarts the program on the same disk, or on a new one if nothing of the disk is left. */
  async #bootAgain(item: PodInstance, pod: PodItem): Promise<void> {
    // While its engine is away its disk is still there, although nobody can look.
    const hindrance = (await this.#waiting.awayNow(item)) ?? this.#parts.refusal?.();
    if (hindrance !== undefined) return this.#waiting.for(pod, hindrance);
    // The previous exit has been dealt with.
    this.#keeper.forget(item.id);
    const begun = await this.#keeper.runningNow(item);
    if (begun) return this.#revived(item, begun);
    const times = pod.doc.cluster ? "" : ` (${pod.doc.crashes?.count ?? 0} of ${MOST_RESTARTS})`;
    this.#log.say(item, `starting again${times}`);
    try {
      const instance = await this.#booter.again(item, pod);
      // A program that has already ended did run. Its end is handled like any other, with a pause before the next start.
      if (instance.state !== "pending") await this.#revived(item, instance);
      if (instance.state !== "running") await this.#keeper.accepted(instance);
    } catch (error) {
      if (isAway(error)) throw error;
      if (error instanceof DriverAway) return this.#waiting.now(item, failedStart(error));
      if (!(error instanceof StartRefused)) return this.#fail(item, failedStart(error));
      await this.#anew(item, error);
    }
  }

  async #anew(item: PodInstance, refusal: StartRefused): Promise<void> {
    if (refusal instanceof PlaceGone) return this.#cannotBegin(item, refusal);
    this.#log.say(item, `begins with a new container disk: ${refusal.message}`);
    await this.#bootAfresh(item);
  }

  async #revived(item: PodInstance, program: Instance): Promise<void> {
    const { startedAt, devices } = program;
    await this.#change(item, (pod, instance) => {
      if (instance.doc.state !== "CRASHED" || !mayRun(pod)) return undefined;
      const set = { bootedAt: startedAt, startedAt, ...(devices && { devices }) };
      return { ...running(program), instance: { move: "revive", set } };
    });
    await this.#followed(item.id);
  }

  async #bootAfresh(item: PodInstance): Promise<void> {
    const at = await this.#keeper.end(item.id, RESTART_GRACE_MS);
    await this.#parts.compute.remove(item.id);
    await this.#log.ended(item);
    await this.#change(item, (_, instance) => {
      if (instance.doc.state !== item.doc.state) return undefined;
      return { set: {}, instance: { move: "clear", set: { startedAt: null }, metered: { at } } };
    });
    // If something else is wanted by now, the step that does it has to know when the program ended.
    if ((await this.own()).get(item.id)?.doc.state === "PLACED") this.#keeper.forget(item.id);
    this.#again(item.id);
  }

  /** Records that the program runs, unless something else is wanted of the Pod by now. */
  async #runs(item: PodInstance, program: Instance): Promise<void> {
    const { startedAt, devices } = program;
    await this.#change(item, (pod, instance) => {
      if (instance.doc.state !== "PLACED" || !mayRun(pod)) return undefined;
      const { boots } = instance.doc;
      const set = { bootedAt: startedAt, startedAt, boots: boots + 1, ...(devices && { devices }) };
      return { ...running(program), instance: { move: "run", set } };
    });
    await this.#followed(item.id);
  }

  /** Follows the program's output, and then does what is wanted of the Pod by now. */
  async #followed(id: string): Promise<void> {
    const now = (await this.own()).get(id);
    if (now) this.#log.follow(now);
    if (now && now.doc.state !== "RUNNING") this.#again(id);
    if (now?.doc.state === "RUNNING") await this.#joins(now);
  }

  /** Starts Ray or Slurm on a member of a cluster, if its type asks for that. */
  async #joins(item: PodInstance): Promise<void> {
    if (item.doc.cluster === undefined) return;
    const seat = (await this.#records.pods.get(item.doc.owner))?.doc.cluster;
    if (seat) this.#forming.form(item, seat);
  }

  async #ended(item: PodInstance, pod: PodItem, exit: Exit): Promise<void> {
    // A program may end before its start is recorded. Then nobody has read its output yet.
    this.#log.follow(item);
    await this.#log.ended(item);
    const { bootedAt = Number.NEGATIVE_INFINITY } = this.#parts;
    // When a machine is switched off, it asks programs to end, and many then exit with 0. That is not an end that the Pod's program chose.
    if (exit.at < bootedAt) return this.#wasAway(item, exit.at);
    const how = exitReason(exit);
    const said = reworded(how, (text) => exit.reason ?? text);
    if (exit.isLost) return this.#unplace(item, because("place-lost", {}, said), { at: exit.at });
    if (exit.code === 0) return this.#close(item, "end", because("pod-ended", { how: exitText(exit) }), exit.at);
    // A member of a cluster is started again once there is room, because nobody could start it alone.
    if (exit.isFinal && !pod.doc.cluster) return this.#fail(item, said, exit.at);
    const ending = await this.#log.ending(item, how);
    await this.#crashed(item, ending, exit.at);
    this.#parts.log.warn({ pod: pod.id, code: ending.code, reason: plainText(ending) }, "the program of a Pod failed");
  }

  async #crashed(item: PodInstance, reason: Reason, at: number): Promise<void> {
    const { clock } = this.#parts;
    let isOver = false;
    await this.#change(item, (pod, instance) => {
      isOver = false;
      if (!mayCrash(pod, instance)) return undefined;
      const ranMs = at - (instance.doc.bootedAt ?? at);
      const isMember = pod.doc.cluster !== undefined;
      const crashes = afterCrash(pod.doc.crashes, { now: clock.now(), ranMs, isMember });
      isOver = crashes === undefined;
      if (!crashes) return undefined;
      const seconds = Math.ceil((crashes.startsAgainAt - clock.now()) / 1000);
      const times = isMember ? "" : ` (${crashes.count} of ${MOST_RESTARTS})`;
      const again = reworded(reason, (text) => `${text}; starts again in ${seconds} s${times}`);
      this.#log.say(item, `failed: ${again.text}`);
      return {
        move: "crash",
        set: { reason: again, crashes },
        // Nothing is charged while nothing runs. The next start begins a new span.
        instance: { move: "crash", set: { startedAt: null }, metered: { at } },
      };
    });
    if (!isOver) return;
    const loop = because("crash-loop", { cause: reason.code, failures: MOST_RESTARTS }, reason);
    await this.#fail(
      item,
      reworded(loop, (text) => `${text}; started ${MOST_RESTARTS} times again`),
    );
  }

  async #fail(item: PodInstance, reason: Reason, at?: number): Promise<void> {
    this.#log.say(item, `failed: ${reason.text}`);
    await this.#close(item, "fail", reason, at);
  }

  /** Ends the Pod for now and frees its place. */
  async #close(item: PodInstance, move: "end" | "fail", reason: Reason, at?: number): Promise<void> {
    await this.#change(item, (pod) => {
      if (!podLifecycle.can(pod.doc.status, move)) return undefined;
      return { move, set: { reason, instance: null, crashes: null }, instance: { move: "end", metered: { at } } };
    });
    this.#again(item.id);
  }

  /** Stops the program, removes everything of it from the machine except what it stored, and frees its place. */
  async #end(item: PodInstance, pod: PodItem | undefined): Promise<void> {
    const { compute, podKeys, left } = this.#parts;
    this.#parts.starter.giveUp(item.id);
    const at = await this.#keeper.end(item.id, item.doc.graceMs ?? STOP_GRACE_MS);
    await compute.remove(item.id);
    await this.#log.ended(item);
    if (pod) this.#log.say(item, `ended: ${(pod.doc.reason ?? because("unwanted")).text}`);
    if (!pod || pod.doc.instance === null) await podKeys.removeOf(item.doc.owner);
    await this.#records.leave(item, { at });
    this.forget(item.id);
    left();
  }

  forget(id: string): void {
    this.#keeper.forget(id);
    this.#booter.forget(id);
    this.#forming.forget(id);
    this.#parts.starter.giveUp(id);
  }

  exited(): void {}

  async waits(item: PodInstance, reason: string): Promise<void> {
    await this.#waiting.now(item, saying("driver-waits", reason));
  }

  async adopt(item: PodInstance, instance: Instance): Promise<void> {
    if (item.doc.state === "CRASHED") await this.#revived(item, instance);
    else await this.#runs(item, instance);
  }

  async takeUp(item: PodInstance): Promise<void> {
    if (item.doc.state !== "RUNNING") return this.#again(item.id);
    this.#log.follow(item);
    await this.#joins(item);
  }

  staysTakenUp({ doc }: PodInstance, { state }: Instance): boolean {
    return doc.state === "RUNNING" && state === "running" && doc.cluster === undefined;
  }

  /** The program most likely ended with its machine. That is not its fault, so it is started again at once. */
  async vanished(item: PodInstance, lastSeenAt: number | undefined): Promise<void> {
    if (item.doc.state !== "RUNNING") return this.#again(item.id);
    await this.#wasAway(item, lastSeenAt);
  }

  /** Also for a program whose start was not recorded before its machine lost power. */
  async #wasAway(item: PodInstance, lastSeenAt: number | undefined): Promise<void> {
    const { clock } = this.#parts;
    const reason = because("machine-was-away");
    await this.#change(item, (pod, instance) => {
      if (!mayCrash(pod, instance)) return undefined;
      const crashes = { count: pod.doc.crashes?.count ?? 0, startsAgainAt: clock.now() };
      // Nothing is charged while nobody knows that it runs. The next start begins a new span.
      const left = { move: "crash", set: { startedAt: null }, metered: { at: lastSeenAt } } as const;
      return { move: "crash", set: { reason, crashes }, instance: left };
    });
    this.#log.say(item, reason.text);
    this.#again(item.id);
  }

  /** If another node changed the Pod a moment ago, what is remembered of the instance would be acted on over and over. It is read again then. */
  async #change(item: PodInstance, decide: (pod: PodItem, own: PodInstance) => PodChange | undefined): Promise<void> {
    let change: PodChange | undefined;
    await this.#records.change(item.doc.owner, (pod, instance) => {
      change = instance?.id === item.id ? decide(pod, instance) : undefined;
      return change;
    });
    if (!change) this.#records.instances.forget();
  }

  #again(id: string): void {
    floating(this.tend(id), named(this.#parts.failed, "tend Pods"));
  }

  async removed({ owner }: Instance): Promise<void> {
    if (!(await this.#records.pods.get(owner))) await this.#parts.podKeys.removeOf(owner);
  }
}
