/** The right to send one request to a worker, which counts as busy with it until the slot is released. */
import type { Clock } from "../kernel/clock.ts";
import type { Backend, Group, Member } from "./balanced-group.ts";

export interface Slot {
  readonly backend: Backend;
  /** Aborts when the worker is gone or frozen. Its reason says why. */
  readonly gone: AbortSignal;
  /** Reports that the worker did not accept a connection, and why. */
  refused(why: string): void;
  release(): void;
}

/** The parts of the balancer that a slot calls. */
export interface SlotOwner {
  clock: Clock;
  doubt(endpoint: string, worker: string, reason: string): void;
  settle(group: Group): void;
}

export class HeldSlot implements Slot {
  readonly #owner: SlotOwner;
  readonly #group: Group;
  readonly #member: Member;
  readonly #received: number;
  #isHeld = true;

  /** A slot that is lent to another node is counted there among the received requests. */
  constructor(owner: SlotOwner, group: Group, member: Member, isLent: boolean) {
    this.#owner = owner;
    this.#group = group;
    this.#member = member;
    this.#received = isLent ? 0 : 1;
    member.inFlight++;
    group.inFlight += this.#received;
  }

  get backend(): Backend {
    return this.#member.backend;
  }

  get gone(): AbortSignal {
    return this.#member.ending.signal;
  }

  refused(why: string): void {
    const { backend, standing } = this.#member;
    // A worker that refuses at once is always the least busy. Without this it would attract every request.
    if (!backend.doubted || standing !== "ready") return;
    this.#owner.doubt(this.#group.endpoint, backend.worker, `it refused a connection: ${why}`);
    backend.doubted();
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const member = this.#member;
    member.inFlight--;
    this.#group.inFlight -= this.#received;
    if (member.inFlight === 0) {
      member.idleSince = this.#owner.clock.now();
      if (member.standing === "leaving") member.idle.resolve();
    }
    this.#owner.settle(this.#group);
  }
}
