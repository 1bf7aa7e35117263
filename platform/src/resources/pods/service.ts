/** The rules of Pods. */
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { newRecord } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { because, type Reason } from "../../kernel/reason.ts";
import type { Machine, NoRoom, Place } from "../../machines/place.ts";
import type { LogLine } from "../../ports/logs/logs.ts";
import type { Page, PageAsked } from "../../ports/store/collection.ts";
import type { Bound, Write } from "../../ports/store/store.ts";
import type { QuotaBook } from "../account/quotas.ts";
import { isMountedOtherwise, mountPaths } from "../container/mistakes.ts";
import { type RefusesImage, refuseImage } from "../endpoints/images.ts";
import { Names, type Naming, withSuffix } from "../names.ts";
import type { RegistryService } from "../registries/service.ts";
import type { SpendBook } from "../spending/service.ts";
import { type Copying, withTemplate } from "../templates/copy.ts";
import type { TemplateService } from "../templates/service.ts";
import type { NetworkVolumeService } from "../volumes/service.ts";
import { affordable, type Ceiling } from "./ceiling.ts";
import { type PodEndings, STOP_GRACE_MS } from "./endings.ts";
import { created, JUPYTER_PASSWORD, type PodTerms, updated } from "./fields.ts";
import type { PodInstance } from "./instance.ts";
import { type PodAction, podLifecycle } from "./lifecycle.ts";
import type { PodLogAsked, ReadPodLog } from "./logs.ts";
import {
  CLUSTER_BYTES,
  CLUSTER_SAID_BYTES,
  type ClusterSeat,
  type KeptPod,
  POD_BYTES,
  type PodConfig,
} from "./model.ts";
import { diskOf } from "./need.ts";
import type { PodPlacer } from "./placer.ts";
import type { PodDecision, PodItem, PodRecords } from "./records.ts";
import { gpusFor, noRoom, refuseLocked, refuseMember, type Starting } from "./starting.ts";

export interface PodServiceParts {
  clock: Clock;
  random: Random;
  podRecords: PodRecords;
  quotas: QuotaBook;
  spending: Pick<SpendBook, "assert">;
  uniqueNames?: boolean | undefined;
  endings: PodEndings;
  /** Finds places for Pods. Without it, there is no room for any. */
  placer: PodPlacer | undefined;
  /** Reads the logs of Pods. */
  readPodLog: ReadPodLog;
  /** Decides which images this installation refuses, and why. */
  refusesImage: RefusesImage;
  /** Called with an instance that has something to do. Undefined means that there may be room for a waiting Pod. */
  podChanged: (instance: PodInstance | undefined) => void;
  volumes: NetworkVolumeService;
  registries: RegistryService;
  templates: TemplateService;
}

export class PodService {
  readonly #parts: PodServiceParts;
  readonly #names: Names<KeptPod>;

  constructor(parts: PodServiceParts) {
    this.#parts = parts;
    const { random, podRecords, uniqueNames: isKept = true } = parts;
    this.#names = new Names({ named: podRecords.pods, called: "Pod", random, isKept });
  }

  async prepare(): Promise<void> {}

  /** Leaves out members of clusters, unless they are asked for. */
  list(
    caller: Caller,
    { includeClusterPods, ...asked }: PageAsked & { includeClusterPods: boolean },
  ): Promise<Page<KeptPod>> {
    return this.#parts.podRecords.pods.page(caller, asked, ({ doc }) => includeClusterPods || !doc.cluster);
  }

  /** A Pod of another account does not exist for the caller. A Pod itself sees only itself. */
  async own(caller: Caller, id: string): Promise<PodItem> {
    return permitted(caller, id, await this.#parts.podRecords.pods.get(id));
  }

  /** The lines of a Pod's log, from the start that the query names, followed by new lines as they come. */
  async logs(caller: Caller, asked: PodLogAsked): Promise<AsyncIterable<LogLine[]>> {
    return this.#parts.readPodLog(await this.own(caller, asked.pod), asked);
  }

  /** The Pod has a place before this returns. */
  async create(caller: Caller, terms: PodTerms, how: Naming & Ceiling = {}): Promise<PodItem> {
    const config = affordable(await this.#checked(caller, terms), how);
    return this.#names.under(caller.account, { name: config.name, ...how }, async (claim, check) => {
      const doc = this.#newPod(caller, { ...config, ...claim });
      const pod = { ...newRecord(this.#parts, caller.account), doc };
      await check();
      await this.#placedNow(caller.account, 1, async (placer, within) => {
        const placed = await placer.create(pod, check, within);
        return "reason" in placed ? placed : [placed];
      });
      return this.own(caller, pod.id);
    });
  }

  /**
   * Creates the members of a cluster, and the cluster's record in the same commit. Either all members get places, or nothing is created.
   */
  async createMembers(
    caller: Caller,
    terms: PodTerms,
    seats: readonly ClusterSeat[],
    cluster: (places: readonly Place[], machines: readonly Machine[]) => Promise<Write>,
  ): Promise<void> {
    const config = await this.#checked(caller, terms, CLUSTER_SAID_BYTES);
    const members = seats.map((seat) => ({
      ...newRecord(this.#parts, caller.account),
      doc: { ...this.#newPod(caller, config), name: withSuffix(config.name, `-${seat.rank}`), cluster: seat },
    }));
    refuseTooLarge(members.map(({ doc }) => doc));
    await this.#placedNow(caller.account, members.length, (placer, within) =>
      placer.createTogether(members, async (places, machines) => [await cluster(places, machines)], within),
    );
  }

  /** The configuration of a new Pod, from the terms and the template that they name. Throws if the Pod is not allowed. */
  async #checked(caller: Caller, terms: PodTerms, most = POD_BYTES): Promise<PodConfig> {
    const config = created(await this.#copied(caller, terms, "new-pod", most), terms);
    await this.#parts.spending.assert(caller.account, caller.key);
    await refuseImage(this.#parts.refusesImage, config.image, caller.account, mountPaths(config.mounts));
    await this.#parts.registries.using(caller.account, config.registry);
    await this.#refuseVolumesElsewhere(caller.account, config);
    return withJupyter(config, this.#parts.random);
  }

  #newPod({ key: createdBy }: Caller, config: PodConfig): KeptPod {
    return {
      ...config,
      createdBy,
      status: podLifecycle.begin("PROVISIONING"),
      reason: because("about-to-start"),
      lastStatusChange: this.#parts.clock.now(),
      startedAt: null,
      instance: null,
      last: null,
      machines: [],
      crashes: null,
      publicPorts: {},
    };
  }

  /** Places new Pods, if the account's quota allows this many. */
  async #placedNow(
    account: string,
    amount: number,
    place: (placer: PodPlacer, within: readonly Bound[]) => Promise<readonly PodInstance[] | NoRoom>,
  ): Promise<void> {
    const { quotas, podRecords, placer } = this.#parts;
    const pods = { name: "pods", of: [podRecords.pods.held({ account })], amount } as const;
    const placed = await quotas.withinAll(account, [pods], async (within) =>
      placer ? place(placer, within) : { reason: because("nothing-runs-pods") },
    );
    if ("reason" in placed) throw noRoom(placed.reason);
    for (const instance of placed) this.#tell(instance);
  }

  async update(caller: Caller, id: string, asked: PodTerms, naming: Naming = {}): Promise<PodItem> {
    const terms = await this.#copied(caller, asked, "change");
    await refuseImage(this.#parts.refusesImage, terms.image, caller.account);
    return this.#change(caller, id, async (pod, instance) => {
      const { set: changed, reboots } = updated(pod.doc, terms, asked);
      if (Object.keys(changed).length === 0) return undefined;
      const after = { ...pod.doc, ...changed };
      if (isMountedOtherwise(pod.doc, after))
        await refuseImage(this.#parts.refusesImage, after.image, pod.account, mountPaths(after.mounts));
      const set = { ...changed, ...(await this.#names.renamed(pod, { name: changed.name, ...naming })) };
      const { registries, templates } = this.#parts;
      const also = [
        ...(await registries.using(pod.account, set.registry)),
        ...(await templates.using(pod.account, set.template)),
      ];
      if (reboots.length === 0 || !instance) return { set, also };
      if (pod.doc.locked && terms.locked !== false)
        throw problem("wrong-state", `This Pod is locked: a change of ${reboots.join(", ")} would restart it.`, {
          reason: "pod-locked",
        });
      const reason = because("restarts-for-change", { fields: reboots.join(", ") });
      const diskGb = diskOf(after);
      await this.#parts.placer?.refuseMoreDisk(instance, diskGb - instance.doc.diskGb);
      return { move: "change", set: { ...set, reason }, also, instance: { ...restarting.instance, set: { diskGb } } };
    });
  }

  /** A volume must belong to the account, and be in a data center where the Pod may be. */
  async #refuseVolumesElsewhere(account: string, { mounts, dataCenterIds }: PodConfig): Promise<void> {
    const ids = (mounts.network ?? []).map(({ volumeId }) => volumeId);
    for (const { id, dataCenter } of await this.#parts.volumes.located(account, ids)) {
      if (dataCenterIds.length > 0 && !dataCenterIds.includes(dataCenter))
        throw problem(
          "rule-broken",
          `Network volume '${id}' is in ${dataCenter}, which 'dataCenterIds' does not name.`,
        );
    }
  }

  /** Adds the fields of the named template to the terms. */
  async #copied(caller: Caller, terms: PodTerms, copying: Copying, most = POD_BYTES): Promise<PodTerms> {
    if (terms.templateId === undefined) return terms;
    const whole = withTemplate(await this.#parts.templates.forCopy(caller, terms.templateId, "pod"), terms, copying);
    const bytes = Buffer.byteLength(JSON.stringify(whole));
    if (bytes > most)
      throw problem("too-large", `With its template this Pod takes ${bytes} bytes to say, of ${most} at most.`);
    return whole;
  }

  /** Undefined if the action removed the Pod. */
  async act(caller: Caller, id: string, action: PodAction, how: Starting = {}): Promise<PodItem | undefined> {
    if (caller.pod !== undefined && action !== "stop" && action !== "terminate")
      throw problem("not-allowed", `A Pod may stop and terminate itself, not ${action}.`);
    if (action === "terminate") return void (await this.remove(caller, id));
    if (action === "start" && how.waits === false) return this.#startAtOnce(caller, id, how);
    const changed = await this.#change(caller, id, async ({ account, doc }) => {
      const isResting = action === "stop" && how.knowsNoError === true && podLifecycle.can(doc.status, "rest");
      if (!isResting) podLifecycle.assert(doc.status, action);
      if (action !== "stop") await this.#parts.spending.assert(account, caller.key, doc.createdBy);
      if (action === "stop" || how.isReset) refuseLocked(doc, action === "stop" ? "stop" : "reset");
      if (action === "stop")
        return this.#parts.endings.ending(isResting ? "rest" : "stop", because("stopped-by-owner"), STOP_GRACE_MS);
      if (action === "restart") return { move: action, set: { reason: because("restart-asked") }, ...restarting };
      return { move: action, set: { reason: because("about-to-start"), crashes: null, ...gpusFor(doc, how) } };
    });
    return action === "start" ? this.#placed(changed) : changed;
  }

  /** Recreates the container from its image. Refused while the Pod is locked. */
  async reset(caller: Caller, id: string): Promise<PodItem> {
    return (await this.act(caller, id, "restart", { isReset: true }))!;
  }

  /** A stop from the older surfaces. They know no ERROR, and show a Pod that cannot run as stopped. */
  async stop(caller: Caller, id: string): Promise<PodItem> {
    return (await this.act(caller, id, "stop", { knowsNoError: true }))!;
  }

  /** If there is no room now, the Pod stays stopped, and the refusal says why. */
  async #startAtOnce(caller: Caller, id: string, how: Starting): Promise<PodItem> {
    const pod = await this.own(caller, id);
    refuseMember(pod);
    podLifecycle.assert(pod.doc.status, "start");
    await this.#parts.spending.assert(pod.account, caller.key, pod.doc.createdBy);
    const placed = await this.#parts.placer?.place(pod, { set: { crashes: null, ...gpusFor(pod.doc, how) } });
    if (placed && !("reason" in placed)) {
      this.#tell(placed);
      return this.own(caller, id);
    }
    // The Pod's previous instance still has its place. The Pod gets it again as soon as that instance has ended.
    if (placed?.reason.code === "still-ending") return (await this.act(caller, id, "start", { ...how, waits: true }))!;
    throw noRoom(placed?.reason ?? because("changed-meanwhile"));
  }

  /** Callers no longer see the Pod. The node of its machine ends its program and removes what it stored. */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.#change(caller, id, (pod) => this.#parts.endings.gone(pod, because("terminated-by-owner")));
  }

  /** Removes the members of a cluster that was deleted. */
  async removeMembers(cluster: string): Promise<void> {
    for await (const { id } of this.#parts.podRecords.pods.all({ key: { name: "cluster", value: cluster } }))
      await this.#change(undefined, id, (pod) => this.#parts.endings.gone(pod, because("cluster-deleted")));
  }

  /** Removes the Pods of an account that is being deleted. */
  async removeAccount(account: string): Promise<void> {
    for await (const { id } of this.#parts.podRecords.pods.all({ account }))
      await this.#change(undefined, id, (pod) => this.#parts.endings.gone(pod, because("account-deleted")));
  }

  /** Stops a Pod without its owner's request. Nothing changes if the Pod does not run any more. */
  stopFor(id: string, reason: Reason, graceMs: number): Promise<PodItem | undefined> {
    return this.#parts.endings.stopFor(id, reason, graceMs);
  }

  /** Places a Pod that was told to start, at once if there is room. Otherwise the Pod waits and shows the reason. */
  async #placed(pod: PodItem): Promise<PodItem> {
    const { podRecords } = this.#parts;
    const placed = await this.#parts.placer?.place(pod);
    if (placed && "reason" in placed) {
      const { reason } = placed;
      const waiting = await podRecords.change(pod.id, ({ doc }) =>
        doc.status === "PROVISIONING" && doc.instance === null ? { set: { reason } } : undefined,
      );
      this.#tell(undefined);
      return waiting ?? pod;
    }
    this.#tell(placed);
    return (await podRecords.pods.get(pod.id)) ?? pod;
  }

  /** Changes a Pod for a caller, who must own it, or for the platform itself. */
  async #change(caller: Caller, id: string, decide: PodDecision): Promise<PodItem>;
  async #change(caller: undefined, id: string, decide: PodDecision): Promise<PodItem | undefined>;
  async #change(caller: Caller | undefined, id: string, decide: PodDecision): Promise<PodItem | undefined> {
    let had: PodInstance | undefined;
    const changed = await this.#parts.podRecords.change(id, (pod, instance) => {
      if (caller) refuseMember(permitted(caller, id, pod));
      had = instance;
      return decide(pod, instance);
    });
    this.#tell(had);
    return caller ? permitted(caller, id, changed) : changed;
  }

  #tell(instance: PodInstance | undefined): void {
    this.#parts.podChanged(instance);
  }
}

const PASSWORD_BYTES = 16;

/** Adds a notebook password that nobody else knows. The owner finds it in the variables. */
function withJupyter(config: PodConfig, random: Random): PodConfig {
  if (!config.startJupyter || config.env[JUPYTER_PASSWORD] !== undefined) return config;
  const password = Buffer.from(random.bytes(PASSWORD_BYTES)).toString("hex");
  return { ...config, env: { ...config.env, [JUPYTER_PASSWORD]: password } };
}

const restarting = { instance: { move: "restart" } } as const;

function permitted(caller: Caller, id: string, pod: PodItem | undefined): PodItem {
  if (!pod || pod.account !== caller.account || (caller.pod !== undefined && caller.pod !== id))
    throw problem("not-found", "pod not found");
  return pod;
}

function refuseTooLarge(docs: readonly KeptPod[]): void {
  const bytes = docs.length * Buffer.byteLength(JSON.stringify(docs[0]));
  if (bytes > CLUSTER_BYTES)
    throw problem("too-large", `Its ${docs.length} members take ${bytes} bytes to keep, of ${CLUSTER_BYTES} at most.`);
}
