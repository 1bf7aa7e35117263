/** Gives readers the event streams of their accounts, on any node, limited to what their keys may read. */
import { Allowance, type Speed } from "../../kernel/allowance.ts";
import { every } from "../../kernel/background.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { EventBlock } from "../../kernel/event-block.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import { resourceId } from "../../kernel/ids.ts";
import { problem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { pause } from "../../kernel/wait.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { Signals } from "../../ports/signals/signals.ts";
import type { StoredRecord } from "../../ports/store/store.ts";
import type { WatchedStore, Written } from "../../ports/store/watched-store.ts";
import { Hub } from "./hub.ts";
import { streamed, streamedByKind } from "./kinds.ts";
import { type AccountEvent, MOST_STREAMS } from "./model.ts";
import { SharedBlocks, sightOf } from "./shared-blocks.ts";

export interface EventParts {
  watched: WatchedStore;
  queue: Pick<Queue, "counts">;
  signals: Signals;
  clock: Clock;
  random: Random;
  failed: Failed;
  /** True if no other process serves the same store. */
  alone: boolean;
  /** Whether a key is still valid. */
  isStanding: (key: string) => Promise<boolean>;
}

const DUTY = "look after event streams";
/** How often followed accounts are read completely and keys are checked. Changes that no signal reported are found by then. */
const LOOK_MS = 12_000;
/** After hearing that somebody follows an account, other nodes report their writes for this long. */
const WATCHED_MS = 3 * LOOK_MS;
/** When its last reader leaves, an account is still followed for this long, so that readers can resume without a reset. */
const LINGER_MS = 60_000;
/** The bytes that all streams of an account together get: enough for 100 readers of 1,000 events a second. A reader that falls too far behind gets `reset`. */
const OF_ACCOUNT: Speed = { perSecond: 20_000_000, atOnce: 40_000_000 };

interface Followed {
  hub: Hub;
  /** Names the hub in event ids, since the numbers of another hub mean nothing here. */
  epoch: string;
  blocks: SharedBlocks;
  readers: number;
  allowance: Allowance;
  leaving?: Timer | undefined;
  stop(): void;
}

type Block = EventBlock<AccountEvent>;

export class AccountEvents implements AsyncDisposable {
  readonly #parts: EventParts;
  readonly #followed = new Map<string, Followed>();
  readonly #looking: AsyncDisposable;
  readonly #stopWatching: (() => void)[] = [];
  /** The time until which other nodes follow accounts, as far as this node has heard. */
  #watchedUntil = Number.NEGATIVE_INFINITY;
  #isTelling = false;
  #unwatch: (() => void) | undefined;
  #unwatchLists: (() => void) | undefined;

  constructor(parts: EventParts) {
    this.#parts = parts;
    this.#looking = every(parts.clock, { name: DUTY, everyMs: LOOK_MS }, () => this.#look(), parts.failed);
    if (parts.alone) return;
    this.#stopWatching.push(parts.signals.listen("events:watched", () => this.#heardOfWatchers()));
    // Other nodes may have followed accounts before this one began, and they say so again only at their next look.
    this.#heardOfWatchers();
  }

  /** Streams the changes in the caller's account from now on, or from the last event that the caller has seen. */
  async follow(caller: Caller, lastEventId: string | undefined, gone: AbortSignal): Promise<AsyncIterable<Block>> {
    const followed = this.#join(caller.account);
    const leave = () => this.#leave(caller.account, followed);
    gone.addEventListener("abort", leave, { once: true });
    if (gone.aborted) leave();
    try {
      await followed.hub.ready;
    } catch (error) {
      gone.removeEventListener("abort", leave);
      if (!gone.aborted) leave();
      this.#end(caller.account, followed);
      throw error;
    }
    return this.#events(followed, caller, numberIn(lastEventId, followed), gone);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stopWatching) stop();
    for (const [account, followed] of this.#followed) this.#end(account, followed);
    this.#unwatch?.();
    this.#unwatchLists?.();
    await this.#looking[Symbol.asyncDispose]();
  }

  async *#events(
    { hub, epoch, blocks, allowance }: Followed,
    caller: Caller,
    from: number | string,
    gone: AbortSignal,
  ): AsyncGenerator<Block> {
    const { clock } = this.#parts;
    const sight = sightOf(caller);
    const special = (type: "reset" | "end", why: string) =>
      new EventBlock([{ id: `${epoch}-${at}`, data: { type, why } as AccountEvent }]);
    let at = typeof from === "number" ? from : hub.backlog.last;
    if (typeof from === "string") yield special("reset", from);
    let lookedAt = clock.monotonic();
    while (!gone.aborted && !hub.isOver) {
      if (clock.monotonic() - lookedAt >= LOOK_MS) {
        lookedAt = clock.monotonic();
        if (!(await this.#parts.isStanding(caller.key))) return yield special("end", "this API key is no longer valid");
      }
      if (!hub.backlog.reaches(at)) {
        at = hub.backlog.last;
        yield special("reset", "more has changed than is kept for a reader that is this slow");
        continue;
      }
      const next = blocks.after(at, sight);
      if (!next) {
        await stirredOrGone(hub, gone);
        continue;
      }
      at = next.at;
      const { block } = next;
      if (!block) continue;
      yield block;
      const waitMs = allowance.spend(block.bytes.length, clock.monotonic());
      if (waitMs > 0) await pause(clock, waitMs, gone);
    }
  }

  #join(account: string): Followed {
    const followed = this.#followed.get(account) ?? this.#begin(account);
    if (followed.readers >= MOST_STREAMS)
      throw problem(
        "too-much",
        `This account has ${MOST_STREAMS} event streams here, and may have no more: close one.`,
      );
    followed.readers++;
    followed.leaving?.cancel();
    followed.leaving = undefined;
    return followed;
  }

  #begin(account: string): Followed {
    const { watched, signals, random, alone, failed } = this.#parts;
    const background = (work: Promise<void>) => floating(work, named(failed, DUTY));
    const hub = new Hub(account, { ...this.#parts, store: watched.unwatched, background });
    const hints = alone
      ? []
      : streamed.flatMap((kind) => [
          signals.listen(`changed:${account}/${kind.kind}`, () => this.#isTelling || hub.hinted(kind, 0)),
          signals.listen(`dropped:${account}/${kind.kind}`, (count) => this.#isTelling || hub.hinted(kind, count)),
        ]);
    const stop = () => {
      for (const stopListening of hints) stopListening();
      hub.close();
    };
    const epoch = resourceId(random);
    const blocks = new SharedBlocks(hub.backlog, epoch);
    const followed = { hub, epoch, blocks, readers: 0, allowance: new Allowance(OF_ACCOUNT), stop };
    this.#followed.set(account, followed);
    this.#watch();
    if (!alone) signals.emit("events:watched");
    return followed;
  }

  #leave(account: string, followed: Followed): void {
    followed.readers--;
    followed.hub.stir();
    if (followed.readers > 0 || followed.hub.isOver) return;
    followed.leaving = this.#parts.clock.after(LINGER_MS, () => this.#end(account, followed));
  }

  #end(account: string, followed: Followed): void {
    followed.leaving?.cancel();
    followed.stop();
    if (this.#followed.get(account) === followed) this.#followed.delete(account);
    this.#watch();
  }

  /** Commits are watched only while somebody follows an account, here or on another node, and lists only while somebody does here. */
  #watch(): void {
    const isNeeded = this.#followed.size > 0 || this.#parts.clock.monotonic() < this.#watchedUntil;
    if (isNeeded) this.#unwatch ??= this.#parts.watched.watch((written) => this.#written(written));
    else {
      this.#unwatch?.();
      this.#unwatch = undefined;
    }
    if (this.#followed.size > 0) this.#unwatchLists ??= this.#parts.watched.watchLists((list) => this.#listed(list));
    else {
      this.#unwatchLists?.();
      this.#unwatchLists = undefined;
    }
  }

  #heardOfWatchers(): void {
    this.#watchedUntil = this.#parts.clock.monotonic() + WATCHED_MS;
    this.#watch();
  }

  #written(written: readonly Written[]): void {
    const isTold = !this.#parts.alone && this.#parts.clock.monotonic() < this.#watchedUntil;
    for (const one of written) {
      const { kind, account } = one.record;
      if (!streamedByKind.has(kind)) continue;
      this.#followed.get(account)?.hub.told(one);
      if (isTold) this.#tell(account, kind, one.how);
    }
  }

  #listed(records: readonly StoredRecord[]): void {
    const kind = records[0] && streamedByKind.get(records[0].kind);
    if (!kind) return;
    for (const record of records) this.#followed.get(record.account)?.hub.listed(kind, record);
  }

  /** Tells other nodes only: while `#isTelling` is set, this node ignores the signal, since its own hubs already know. */
  #tell(account: string, kind: string, how: Written["how"]): void {
    this.#isTelling = true;
    try {
      this.#parts.signals.emit(`${how === "remove" ? "dropped" : "changed"}:${account}/${kind}`);
    } finally {
      this.#isTelling = false;
    }
  }

  async #look(): Promise<void> {
    this.#watch();
    if (this.#followed.size > 0 && !this.#parts.alone) this.#parts.signals.emit("events:watched");
    for (const { hub } of [...this.#followed.values()]) await hub.lookAtAll();
  }
}

/** The number after which a reader continues, or the reason why it cannot. */
function numberIn(lastEventId: string | undefined, { epoch, hub }: Followed): number | string {
  if (lastEventId === undefined) return "this is the beginning of the stream";
  const [, of, number] = /^([a-z0-9]{1,40})-(\d{1,15})$/.exec(lastEventId) ?? [];
  if (of === epoch && hub.backlog.reaches(Number(number))) return Number(number);
  return "what came after the last event is not known here";
}

/** When the reader leaves, the hub is stirred too, so waiting for the hub is enough. */
async function stirredOrGone(hub: Hub, gone: AbortSignal): Promise<void> {
  if (!gone.aborted) await hub.stirred();
}
