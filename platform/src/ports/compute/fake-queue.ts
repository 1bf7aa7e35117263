/** Starts that the fake driver has accepted, when it plays a cluster: they wait for images and room, and then begin or are refused. */
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Instance, InstanceSpec } from "./instance.ts";
import { StartRefused } from "./refusal.ts";

interface Accepted {
  id: string;
  spec: InstanceSpec;
  at: number;
  waitsFor?: string;
  refusal?: StartRefused;
}

export interface FakeQueueParts {
  clock: Clock;
  begin: (id: string, spec: InstanceSpec) => Promise<Instance>;
  tell: (instance: Instance) => void;
  /** Whether the instance has had an earlier boot. */
  hasEnded: (id: string) => boolean;
}

export class FakeQueue {
  /** How long it takes to fetch an image. */
  pullMs = 0;
  readonly #parts: FakeQueueParts;
  readonly #accepted = new Map<string, Accepted>();
  #noRoom: string | undefined;
  #room = Promise.withResolvers<void>();

  constructor(parts: FakeQueueParts) {
    this.#parts = parts;
  }

  /** While there is a reason, nothing begins, and accepted starts wait with this reason. */
  holdFor(reason: string | undefined): void {
    this.#noRoom = reason;
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** Refuses everything that waits now. */
  refuseAll(refusal: StartRefused): void {
    for (const one of this.#accepted.values()) this.#refuse(one, refusal);
  }

  /** Returns the waiting instances that mount a volume. */
  usersOf(volume: string): string[] {
    const mounts = ({ spec, refusal }: Accepted) => !refusal && spec.mounts?.some((mount) => mount.volume === volume);
    return [...this.#accepted.values()].filter(mounts).map(({ id }) => id);
  }

  view(id: string): Instance | undefined {
    const one = this.#accepted.get(id);
    return one && viewOf(one);
  }

  views(): Instance[] {
    return [...this.#accepted.values()].map(viewOf);
  }

  accept(id: string, spec: InstanceSpec): Instance {
    const one: Accepted = { id, spec, at: this.#parts.clock.now() };
    this.#accepted.set(id, one);
    floating(this.#serve(one), (error: unknown) => this.#refuse(one, refusalFrom(error)));
    this.#parts.tell(viewOf(one));
    return viewOf(one);
  }

  /** The waiting start is refused and never begins. */
  stop(id: string): void {
    const one = this.#accepted.get(id);
    if (one && !one.refusal) this.#refuse(one, new StartRefused("it was stopped before it began"));
  }

  drop(id: string): void {
    this.#accepted.delete(id);
  }

  /** Takes over what an earlier process had accepted. */
  takeOver(before: FakeQueue): void {
    this.pullMs = before.pullMs;
    this.#noRoom = before.#noRoom;
    const left = [...before.#accepted.values()];
    before.#accepted.clear();
    for (const { id, spec } of left) this.accept(id, spec);
  }

  async #serve(one: Accepted): Promise<void> {
    // The caller must learn first that its start was accepted.
    await Promise.resolve();
    if (this.pullMs > 0) {
      this.#wait(one, `pulling image ${one.spec.image}`);
      await new Promise<void>((resolve) => this.#parts.clock.after(this.pullMs, resolve));
    }
    while (this.#noRoom !== undefined && this.#isWaiting(one)) {
      this.#wait(one, this.#noRoom);
      await this.#room.promise;
    }
    if (!this.#isWaiting(one)) return;
    await this.#parts.begin(one.id, one.spec);
  }

  #isWaiting(one: Accepted): boolean {
    return this.#accepted.get(one.id) === one && !one.refusal;
  }

  #wait(one: Accepted, waitsFor: string): void {
    if (!this.#isWaiting(one) || one.waitsFor === waitsFor) return;
    one.waitsFor = waitsFor;
    this.#parts.tell(viewOf(one));
  }

  #refuse(one: Accepted, refusal: StartRefused): void {
    if (!this.#isWaiting(one)) return;
    one.refusal = refusal;
    const told = viewOf(one);
    // An instance that was to be started again stays ended as it was.
    if (this.#parts.hasEnded(one.id)) this.#accepted.delete(one.id);
    this.#parts.tell(told);
  }
}

const refusalFrom = (error: unknown): StartRefused =>
  error instanceof StartRefused ? error : new StartRefused((error as Error).message, { cause: error });

function viewOf({ id, spec, at, waitsFor, refusal }: Accepted): Instance {
  const about = { id, kind: spec.kind, owner: spec.owner, startedAt: at };
  if (refusal) return { ...about, state: "refused", refusal };
  return { ...about, state: "pending", ...(waitsFor !== undefined && { waitsFor }) };
}
