/** Load balancing: chooses the worker of an endpoint that takes a request, and holds requests until one can. */
import type { Clock } from "../kernel/clock.ts";
import type { Gone } from "../kernel/gone.ts";
import { isProblem, type Problem, problem } from "../kernel/problem.ts";
import type { Reason } from "../kernel/reason.ts";
import { wait } from "../kernel/wait.ts";
import type { Affinity } from "./affinity.ts";
import {
  accounts,
  type Backend,
  choose,
  Group,
  isAwake,
  isCalled,
  isStaying,
  type Load,
  type LoadDemand,
  Member,
  type Told,
  type Waiting,
  wantedBy,
} from "./balanced-group.ts";
import { HeldSlot, type Slot, type SlotOptions, type SlotOwner } from "./slot.ts";
import { RequestTally } from "./tally.ts";

export type { Slot } from "./slot.ts";

/** The result of waiting for a worker. */
type Waited = { slot: Slot } | { refusal: Problem } | "late" | "left";

/** How long a request waits for any worker, and for the one that it requires. */
export const WAIT_FOR_ANY_MS = 120_000;
const WAIT_FOR_ONE_MS = 300_000;

export interface Asking {
  /** How many requests one worker should have at a time. Above that, more workers are wanted. */
  perWorker: number;
  affinity?: Affinity | undefined;
  /** The account of another that calls a shared endpoint. It waits while all workers have `perWorker` requests. */
  guest?: string | undefined;
  /** Whether the client is gone. */
  gone?: Gone;
  /** Says why the endpoint has no worker. It is asked after waiting in vain. */
  why?: (endpoint: string) => Promise<Reason | undefined>;
  /** Since when the request has waited, on the monotonic clock, if a worker refused it before. The default is now. */
  since?: number;
}

/** How busy a worker is. The keeper uses it to end idle ones. */
export interface Occupation {
  ready: boolean;
  inFlight: number;
  /** Since when the worker has had no request. */
  idleSince: number | undefined;
}

export interface BalancerParts {
  clock: Clock;
  /** Called when the load needs more workers than there are, so that the fleet need not poll for it. */
  rose?: (endpoint: string) => void;
  /** Called when a worker of this node starts or stops taking requests, so that other nodes can be told. */
  changed?: () => void;
}

export class Balancer implements Disposable {
  /** What became of the requests that passed through this node. */
  readonly tally = new RequestTally();
  readonly #clock: Clock;
  readonly #groups = new Map<string, Group>();
  readonly #rose: (endpoint: string) => void;
  readonly #changed: () => void;
  readonly #owner: SlotOwner;
  #uses = 0;
  #closed = false;

  constructor({ clock, rose = () => {}, changed = () => {} }: BalancerParts) {
    this.#clock = clock;
    this.#owner = {
      clock,
      doubt: (endpoint, worker, reason) => this.doubt(endpoint, worker, reason),
      settle: (group) => this.#settle(group.endpoint, group),
    };
    this.#rose = rose;
    this.#changed = changed;
  }

  /** Endpoints with workers or with requests. */
  endpoints(): string[] {
    return [...this.#groups.keys()];
  }

  demand(endpoint: string): LoadDemand {
    const group = this.#groups.get(endpoint);
    if (!group) return { waiting: 0, inFlight: 0, resume: [] };
    const { waiting, inFlight } = group;
    const frozen = [...group.members.values()].filter(({ standing }) => standing === "frozen");
    const resume = frozen.map(({ backend }) => backend.worker).filter((worker) => isCalled(group, worker));
    return { waiting: waiting.size, inFlight, resume };
  }

  /** Returns what other nodes are told: only workers of this node are included. */
  loads(): Record<string, Load> {
    const loads: Record<string, Load> = {};
    for (const [endpoint, { members }] of this.#groups) {
      const own = [...members.values()].filter(({ isElsewhere }) => !isElsewhere);
      const demand = this.demand(endpoint);
      if (own.length === 0 && demand.waiting + demand.inFlight === 0) continue;
      const told = own.map(({ backend, standing, reason, inFlight, idleSince }): [string, Told] => [
        backend.worker,
        { standing, reason: standing === "ready" ? "" : reason, inFlight, idleSince },
      ]);
      loads[endpoint] = { ...demand, workers: Object.fromEntries(told) };
    }
    return loads;
  }

  /** Sets how busy a worker of another node is there. */
  tell(endpoint: string, worker: string, told: Pick<Told, "inFlight" | "idleSince">): void {
    const member = this.#groups.get(endpoint)?.members.get(worker);
    if (member) member.told = told;
  }

  /** The workers that the balancer knows, by their ids. */
  occupations(endpoint: string): Map<string, Occupation> {
    const members = [...(this.#groups.get(endpoint)?.members.values() ?? [])];
    return new Map(
      members.map(({ backend, standing, busy, told, idleSince }) => [
        backend.worker,
        {
          ready: standing === "ready",
          inFlight: busy,
          idleSince: busy === 0 ? Math.max(idleSince, told?.idleSince ?? 0) : undefined,
        },
      ]),
    );
  }

  /** The number of requests of each worker that takes requests or still has some. */
  requestsOf(endpoint: string): Map<string, number> {
    const serving = [...this.occupations(endpoint)].filter(([, { ready, inFlight }]) => ready || inFlight > 0);
    return new Map(serving.map(([worker, { inFlight }]) => [worker, inFlight]));
  }

  /** A worker's program runs. It gets no request before `ready`. After a thaw this is called again, with new connections. */
  add(endpoint: string, backend: Backend): void {
    const group = this.#group(endpoint);
    group.members.get(backend.worker)?.ending.abort(new Error("it was started anew"));
    const member = new Member(backend, this.#clock.now());
    group.members.set(backend.worker, member);
    this.#note(member);
  }

  ready(endpoint: string, worker: string): void {
    const group = this.#groups.get(endpoint);
    const member = group?.members.get(worker);
    if (!group || !member || member.standing === "ready" || member.standing === "leaving") return;
    if (member.inFlight === 0) member.idleSince = this.#clock.now();
    member.standing = "ready";
    this.#note(member);
    this.#handOut(group);
  }

  /** The worker's health check fails. It finishes its requests and gets no more. */
  doubt(endpoint: string, worker: string, reason: string): void {
    const member = this.#groups.get(endpoint)?.members.get(worker);
    if (!member || member.standing === "leaving") return;
    member.reason = reason;
    if (member.standing !== "ready") return;
    member.standing = "doubtful";
    this.#note(member);
  }

  /** A frozen program answers nobody, so its connections are closed. Requests that require this worker can still wait for it. */
  freeze(endpoint: string, worker: string): void {
    const member = this.#groups.get(endpoint)?.members.get(worker);
    if (!member) return;
    member.standing = "frozen";
    member.reason = "it is frozen";
    member.ending.abort(new Error("the worker was frozen"));
    this.#note(member);
  }

  /** Gives the worker no more requests. Resolves when it has answered those it has. */
  async drain(endpoint: string, worker: string): Promise<void> {
    const group = this.#groups.get(endpoint);
    const member = group?.members.get(worker);
    if (!group || !member) return;
    member.standing = "leaving";
    this.#note(member);
    this.#refuseThoseWhoInsist(group, worker, "it is being ended");
    if (member.inFlight === 0) member.idle.resolve();
    await member.idle.promise;
  }

  /** The worker has ended for this reason. Its open requests are aborted. */
  remove(endpoint: string, worker: string, reason: string): void {
    const group = this.#groups.get(endpoint);
    const member = group?.members.get(worker);
    if (!group || !member) return;
    group.members.delete(worker);
    this.#note(member);
    member.ending.abort(new Error(reason));
    member.idle.resolve();
    this.#refuseThoseWhoInsist(group, worker, reason);
    this.#forgetIfEmpty(endpoint, group);
  }

  /** Returns a slot of the least busy worker, or of the one that the affinity names, as soon as there is one. */
  acquire(endpoint: string, asking: Asking): Promise<Slot> {
    const { perWorker, affinity, guest } = asking;
    if (this.#closed) return Promise.reject(stopping());
    const slot = this.take(endpoint, perWorker, affinity, guest);
    if (slot) return Promise.resolve(slot);
    const group = this.#group(endpoint);
    group.perWorker = perWorker;
    if (affinity && affinity.kind !== "soft" && !isStaying(group.members.get(affinity.worker))) {
      this.#forgetIfEmpty(endpoint, group);
      return Promise.reject(workerGone(affinity.worker, "there is no such worker"));
    }
    return this.#wait(endpoint, group, asking);
  }

  /** Does the same without waiting. Most requests get a worker at once, so this avoids setting up a wait for them. */
  take(endpoint: string, perWorker: number, affinity?: Affinity, guest?: string): Slot | undefined {
    const group = this.#groups.get(endpoint);
    if (!group || this.#closed) return undefined;
    // Guests who wait have their turn first.
    if (guest !== undefined && group.guests?.areWaiting) return undefined;
    const member = choose(group, affinity, guest === undefined ? undefined : perWorker);
    if (!member) return undefined;
    group.perWorker = perWorker;
    const slot = this.#slot(group, member, { guest });
    this.#announce(endpoint, group);
    return slot;
  }

  /** Gives a connection to another node, which chose this worker and counts its own requests. */
  lend(endpoint: string, worker: string): Slot {
    if (this.#closed) throw stopping();
    const group = this.#groups.get(endpoint);
    const member = group?.members.get(worker);
    if (!group || !member || member.isElsewhere)
      throw problem("not-found", `worker ${worker} is not here, and a request is passed on only once`);
    if (member.standing !== "ready") throw problem("unavailable", `worker ${worker} is not ready: ${member.reason}`);
    return this.#slot(group, member, { isLent: true });
  }

  /** Refuses waiting and new requests. Requests that a worker already has continue. */
  close(): void {
    this.#closed = true;
    for (const { waiting } of [...this.#groups.values()]) for (const { refuse } of [...waiting]) refuse(stopping());
  }

  [Symbol.dispose](): void {
    this.close();
    for (const { members } of this.#groups.values()) {
      for (const { ending, idle } of members.values()) {
        ending.abort(stopping());
        idle.resolve();
      }
    }
    this.#groups.clear();
  }

  async #wait(endpoint: string, group: Group, asking: Asking): Promise<Slot> {
    const { affinity, guest, gone, since = this.#clock.monotonic() } = asking;
    const insists = affinity !== undefined && affinity.kind !== "soft";
    const untilMs = since + (insists ? WAIT_FOR_ONE_MS : WAIT_FOR_ANY_MS);
    const ms = Math.max(0, untilMs - this.#clock.monotonic());
    const over = () => {
      group.waiting.delete(waiting);
      if (guest !== undefined) group.guests?.remove(waiting);
    };
    const waited = wait<Waited>({ clock: this.#clock, ms, gone, late: "late", left: "left", over });
    const waiting: Waiting = {
      affinity,
      guest,
      take: (member) => waited.end({ slot: this.#slot(group, member, { guest }) }),
      refuse: (refusal) => waited.end({ refusal }),
    };
    group.waiting.add(waiting);
    if (guest !== undefined) group.withGuests().add(waiting);
    if (!gone?.aborted) this.#announce(endpoint, group);
    const outcome = await waited.ended;
    if (typeof outcome === "object" && "slot" in outcome) return outcome.slot;
    this.#settle(endpoint, group);
    if (outcome === "left") throw problem("abandoned", "the client went away");
    if (outcome !== "late") throw outcome.refusal;
    throw insists ? this.#tooLate(group, affinity.worker) : await noWorkers(group, asking.why?.(endpoint));
  }

  #slot(group: Group, member: Member, how: SlotOptions = {}): Slot {
    member.usedAt = ++this.#uses;
    return new HeldSlot(this.#owner, group, member, how);
  }

  /** Gives free workers to the waiting requests, in the order they came, and then to those of guests in turns. */
  #handOut(group: Group): void {
    for (const { affinity, guest, take } of [...group.waiting]) {
      const member = guest === undefined ? choose(group, affinity) : undefined;
      if (member) take(member);
    }
    this.#handOutToGuests(group);
  }

  #handOutToGuests(group: Group): void {
    for (let next = group.guests?.next(); next; next = group.guests?.next()) {
      const member = choose(group, undefined, group.perWorker);
      if (!member) return;
      next.take(member);
    }
  }

  #refuseThoseWhoInsist({ waiting }: Group, worker: string, reason: string): void {
    for (const { affinity, refuse } of [...waiting])
      if (affinity && affinity.kind !== "soft" && affinity.worker === worker) refuse(workerGone(worker, reason));
  }

  #announce(endpoint: string, group: Group): void {
    const wanted = wantedBy(group);
    if (wanted <= group.announced) return;
    group.announced = wanted;
    const awake = [...group.members.values()].filter(isAwake).length;
    if (wanted > awake || group.waiting.size > 0) this.#rose(endpoint);
  }

  #settle(endpoint: string, group: Group): void {
    if (group.guests?.areWaiting && !this.#closed) this.#handOutToGuests(group);
    group.announced = Math.min(group.announced, wantedBy(group));
    this.#forgetIfEmpty(endpoint, group);
  }

  #note({ isElsewhere }: Member): void {
    if (!isElsewhere) this.#changed();
  }

  #tooLate(group: Group, worker: string): Problem {
    const why = group.members.get(worker)?.reason ?? "it is busy";
    const waited = `worker ${worker} was not ready within ${WAIT_FOR_ONE_MS / 60_000} minutes`;
    return problem("no-capacity", `${waited}: ${why}`, { word: "worker_timeout" });
  }

  #group(endpoint: string): Group {
    let group = this.#groups.get(endpoint);
    if (!group) {
      group = new Group(endpoint);
      this.#groups.set(endpoint, group);
    }
    return group;
  }

  #forgetIfEmpty(endpoint: string, { members, waiting, inFlight }: Group): void {
    if (members.size === 0 && waiting.size === 0 && inFlight === 0) this.#groups.delete(endpoint);
  }
}

async function noWorkers(group: Group, why: Promise<Reason | undefined> | undefined): Promise<Problem> {
  const told = await why?.catch((error: unknown) => (isProblem(error, "unavailable") ? error : undefined));
  // If the store is unavailable, that is the reason: no worker can start before it is back.
  if (isProblem(told)) return told;
  const reason = [told?.text, ...accounts(group)].filter(Boolean).join("; ");
  const waited = `no worker was ready within ${WAIT_FOR_ANY_MS / 60_000} minutes`;
  return problem("no-capacity", `${waited}: ${reason || "none is running"}`, {
    word: "no workers available",
    ...(told && { reason: told.code }),
  });
}

const stopping = () => problem("unavailable", "the server is stopping", { reason: "server-ending" });

function workerGone(worker: string, reason: string): Problem {
  return problem("not-found", `worker ${worker} is gone: ${reason}`, {
    word: "affinity_worker_gone",
    reason: "worker-gone",
  });
}
