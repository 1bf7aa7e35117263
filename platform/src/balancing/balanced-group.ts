/** What the balancer knows of one endpoint: its workers as they stand, and the requests that wait for one. */
import type { Duplex } from "node:stream";
import type { Problem } from "../kernel/problem.ts";
import type { Affinity } from "./affinity.ts";

/** A boot of a worker, from the time its program runs. */
export interface Backend {
  readonly worker: string;
  /** The node that reaches it, when that is another one. */
  readonly node?: string;
  /** A new connection to the port on which its application listens. */
  dial(): Promise<Duplex>;
  /** Told when it refused a connection: it gets no requests until it is said to be ready again. */
  doubted?(): void;
}

/** `rising` has not yet passed its first health check, `doubtful` not its last. */
export type Standing = "rising" | "ready" | "doubtful" | "frozen" | "leaving";

/** What another node says of a worker on its machine. */
export interface Told {
  standing: Standing;
  /** Why it is not ready. */
  reason: string;
  /** Connections that it has, from whichever node. */
  inFlight: number;
  idleSince: number;
}

/** What a node has of an endpoint: requests that came to it, and workers on its machine. */
export interface Load extends LoadDemand {
  workers: Record<string, Told>;
}

/** What the scaler goes by. */
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
  /** Why it is not ready. */
  reason = "it is starting";
  inFlight = 0;
  usedAt = 0;
  idleSince: number;
  /** Of one on another node's machine: how busy it is with requests of all nodes, as was last said. */
  told: Pick<Told, "inFlight" | "idleSince"> | undefined;
  /** Waits for the last request of a worker that leaves. */
  readonly idle = Promise.withResolvers<void>();

  constructor(backend: Backend, now: number) {
    this.backend = backend;
    this.idleSince = now;
  }

  get isElsewhere(): boolean {
    return this.backend.node !== undefined;
  }

  /** What is known here of one elsewhere is never old, and what was told of it is about everyone. */
  get busy(): number {
    return Math.max(this.inFlight, this.told?.inFlight ?? 0);
  }
}

export interface Waiting {
  affinity: Affinity | undefined;
  take(member: Member): void;
  refuse(refusal: Problem): void;
}

export class Group {
  readonly endpoint: string;
  readonly members = new Map<string, Member>();
  readonly waiting = new Set<Waiting>();
  /** Requests that came to this node and that a worker has, here or elsewhere. */
  inFlight = 0;
  perWorker = 1;
  /** Workers that the load was last said to need. */
  announced = 0;

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }
}

export function choose({ members }: Group, affinity?: Affinity): Member | undefined {
  if (affinity) {
    const named = members.get(affinity.worker);
    if (named?.standing === "ready") return named;
    if (affinity.kind !== "soft") return undefined;
  }
  let best: Member | undefined;
  for (const member of members.values())
    if (member.standing === "ready" && (!best || isLessBusy(member, best))) best = member;
  return best;
}

/** Of two that are equally busy, the one that has been unused for longer. */
const isLessBusy = (a: Member, b: Member) => a.busy < b.busy || (a.busy === b.busy && a.usedAt < b.usedAt);

export const isStaying = (member: Member | undefined) => member !== undefined && member.standing !== "leaving";

export const isAwake = (member: Member) => isStaying(member) && member.standing !== "frozen";

export const isCalled = ({ waiting }: Group, worker: string) =>
  [...waiting].some(({ affinity }) => affinity?.kind === "strict-resume" && affinity.worker === worker);

export const wantedBy = ({ waiting, inFlight, perWorker }: Group) => Math.ceil((waiting.size + inFlight) / perWorker);

export const accounts = ({ members }: Group) =>
  [...members.values()].map(({ backend, reason }) => `worker ${backend.worker}: ${reason}`);
