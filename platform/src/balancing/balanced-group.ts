/** What the balancer knows about one endpoint: the state of its workers, and the requests that wait for one. */
import type { Duplex } from "node:stream";
import type { Problem } from "../kernel/problem.ts";
import type { Affinity } from "./affinity.ts";

/** A boot of a worker whose program runs. */
export interface Backend {
  readonly worker: string;
  /** The node that reaches it, if that is another one. */
  readonly node?: string;
  /** Opens a new connection to the port on which the worker's application listens. */
  dial(): Promise<Duplex>;
  /** Called when the worker refused a connection. It gets no requests until a health check finds it ready again. */
  doubted?(): void;
}

/** A `rising` worker has not passed its first health check yet. A `doubtful` one has failed its last. */
export type Standing = "rising" | "ready" | "doubtful" | "frozen" | "leaving";

/** What another node reports about a worker on its machine. */
export interface Told {
  standing: Standing;
  /** Why the worker is not ready. */
  reason: string;
  /** The worker's connections from all nodes. */
  inFlight: number;
  idleSince: number;
}

/** A node's part of an endpoint: requests that arrived at the node, and workers on its machines. */
export interface Load extends LoadDemand {
  workers: Record<string, Told>;
}

/** The numbers that the scaler uses. */
export interface LoadDemand {
  waiting: number;
  inFlight: number;
  /** Frozen workers that a request waits for. */
  resume: string[];
}

export class Member {
  readonly backend: Backend;
  readonly ending = new AbortController();
  standing: Standing = "rising";
  /** Why the worker is not ready. */
  reason = "it is starting";
  inFlight = 0;
  usedAt = 0;
  idleSince: number;
  /** For a worker of another node: how busy it is with requests of all nodes, as last reported. */
  told: Pick<Told, "inFlight" | "idleSince"> | undefined;
  /** Resolves after the last request of a worker that leaves. */
  readonly idle = Promise.withResolvers<void>();

  constructor(backend: Backend, now: number) {
    this.backend = backend;
    this.idleSince = now;
  }

  get isElsewhere(): boolean {
    return this.backend.node !== undefined;
  }

  /**
   * The own count is never out of date but only covers this node. The reported count covers all nodes but may be old. So the larger one
   * counts.
   */
  get busy(): number {
    return Math.max(this.inFlight, this.told?.inFlight ?? 0);
  }
}

export interface Waiting {
  affinity: Affinity | undefined;
  /** The account of another that calls a shared endpoint. */
  guest: string | undefined;
  take(member: Member): void;
  refuse(refusal: Problem): void;
}

/** One account's requests to the shared endpoint of another. */
class GuestLine {
  readonly waiting = new Set<Waiting>();
  inFlight = 0;
  /** The number of its last turn. */
  turn = 0;
}

/** Accounts that have no requests now are forgotten beyond this number. */
const MOST_GUESTS = 1000;

/** The requests of guests. Their accounts take turns, however many requests each has. */
class Guests {
  readonly #lines = new Map<string, GuestLine>();
  #turns = 0;
  #waiting = 0;

  get areWaiting(): boolean {
    return this.#waiting > 0;
  }

  add(waiting: Waiting): void {
    this.#lineOf(waiting.guest!).waiting.add(waiting);
    this.#waiting++;
  }

  remove(waiting: Waiting): void {
    if (this.#lines.get(waiting.guest!)?.waiting.delete(waiting)) this.#waiting--;
  }

  /** The first request of the account with the fewest in flight, and of those the one whose last turn is longest ago. */
  next(): Waiting | undefined {
    let best: GuestLine | undefined;
    for (const line of this.#lines.values()) {
      if (line.waiting.size === 0) continue;
      if (!best || line.inFlight < best.inFlight || (line.inFlight === best.inFlight && line.turn < best.turn))
        best = line;
    }
    return best?.waiting.values().next().value;
  }

  began(account: string): void {
    const line = this.#lineOf(account);
    line.inFlight++;
    line.turn = ++this.#turns;
  }

  ended(account: string): void {
    this.#lineOf(account).inFlight--;
  }

  #lineOf(account: string): GuestLine {
    let line = this.#lines.get(account);
    if (!line) {
      if (this.#lines.size >= MOST_GUESTS) this.#forgetIdle();
      line = new GuestLine();
      this.#lines.set(account, line);
    }
    return line;
  }

  #forgetIdle(): void {
    for (const [account, { inFlight, waiting }] of this.#lines)
      if (inFlight === 0 && waiting.size === 0) this.#lines.delete(account);
  }
}

export class Group {
  readonly endpoint: string;
  readonly members = new Map<string, Member>();
  readonly waiting = new Set<Waiting>();
  /** Made when the first guest comes. */
  guests: Guests | undefined;
  /** Requests that arrived at this node and that a worker is answering, here or elsewhere. */
  inFlight = 0;
  perWorker = 1;
  /** How many workers the load was last reported to need. */
  announced = 0;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  withGuests(): Guests {
    this.guests ??= new Guests();
    return this.guests;
  }
}

/** `most` leaves out workers that have this many requests. */
export function choose({ members }: Group, affinity?: Affinity, most = Number.POSITIVE_INFINITY): Member | undefined {
  if (affinity) {
    const named = members.get(affinity.worker);
    if (named?.standing === "ready") return named;
    if (affinity.kind !== "soft") return undefined;
  }
  let best: Member | undefined;
  for (const member of members.values())
    if (member.standing === "ready" && (!best || isLessBusy(member, best))) best = member;
  return best && best.busy < most ? best : undefined;
}

/** Of two equally busy workers, the one that was unused for longer comes first. */
const isLessBusy = (a: Member, b: Member) => a.busy < b.busy || (a.busy === b.busy && a.usedAt < b.usedAt);

export const isStaying = (member: Member | undefined) => member !== undefined && member.standing !== "leaving";

export const isAwake = (member: Member) => isStaying(member) && member.standing !== "frozen";

export const isCalled = ({ waiting }: Group, worker: string) =>
  [...waiting].some(({ affinity }) => affinity?.kind === "strict-resume" && affinity.worker === worker);

export const wantedBy = ({ waiting, inFlight, perWorker }: Group) => Math.ceil((waiting.size + inFlight) / perWorker);

export const accounts = ({ members }: Group) =>
  [...members.values()].map(({ backend, reason }) => `worker ${backend.worker}: ${reason}`);
