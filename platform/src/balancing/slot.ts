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

export interface SlotOptions {
  /** The slot is lent to another node, which counts it among its received requests. */
  isLent?: boolean;
  /** The account of another that calls a shared endpoint. */
  guest?: string | undefined;
}

export class HeldSlot implements Slot {
  readonly #owner: SlotOwner;
  readonly #group: Group;
  readonly #member: Member;
  readonly #received: number;
  readonly #guest: string | undefined;
  #isHeld = true;

  constructor(owner: SlotOwner, group: Group, member: Member, { isLent = false, guest }: SlotOptions) {
    this.#owner = owner;
    this.#group = group;
    this.#member = member;
    this.#guest = guest;
    if (guest !== undefined) group.withGuests().began(guest);
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
    if (this.#guest !== undefined) this.#group.guests?.ended(this.#guest);
    if (member.inFlight === 0) {
      member.idleSince = this.#owner.clock.now();
      if (member.standing === "leaving") member.idle.resolve();
    }
    this.#owner.settle(this.#group);
  }
}
