/** Follows one account on this node while it has readers: knows the account's records and turns their changes into events. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import type { Counts, Queue } from "../../ports/queue/queue.ts";
import type { Signals } from "../../ports/signals/signals.ts";
import type { Store, StoredRecord } from "../../ports/store/store.ts";
import type { Written } from "../../ports/store/watched-store.ts";
import { Backlog } from "./backlog.ts";
import { type Shown, type Streamed, streamed, streamedByKind } from "./kinds.ts";
import type { AccountEvent, JobCounts } from "./model.ts";

export interface HubParts {
  store: Pick<Store, "list">;
  queue: Pick<Queue, "counts">;
  signals: Signals;
  clock: Clock;
  /** Runs work that nobody waits for, and reports its failures. */
  background: (work: Promise<void>) => void;
}

/** All changes of one record within this time become one event. */
const GATHER_MS = 100;
/** The jobs of an endpoint are counted at most this often. */
const COUNT_MS = 500;
/** At most this many endpoints are counted in one go. */
const COUNTED_AT_ONCE = 50;
/** After hints from other nodes, records are read at most this often. */
const LOOK_MS = 500;
const PAGE = 500;
/** The hub remembers this many removed records, so that a late report of an earlier commit does not bring one back. */
const MOST_GONE = 2000;

export class Hub {
  readonly #account: string;
  readonly #parts: HubParts;
  readonly backlog = new Backlog();
  readonly #known = new Map<string, Shown>();
  readonly #gone = new Set<string>();
  readonly #gathered = new Map<string, AccountEvent>();
  readonly #counts = new Map<string, JobCounts>();
  /** Endpoints whose job counts may have changed. */
  readonly #hot = new Set<string>();
  readonly #stopListening = new Map<string, () => void>();
  readonly #waiting = new Set<() => void>();
  /** Records that were reported while records are being read. The read may have returned an older state of these. */
  #touched: Set<string> | undefined;
  readonly #due = new Set<Streamed>();
  /** Removals on other nodes that no read has found yet. */
  readonly #unseen = new Map<Streamed, number>();
  #looking: Promise<void> | undefined;
  #isReady = false;
  #isOver = false;
  #gathering: Timer | undefined;
  #counting: Timer | undefined;
  #soon: Timer | undefined;
  /** Resolves once the hub knows all records that existed when it began. */
  readonly ready: Promise<void>;

  constructor(account: string, parts: HubParts) {
    this.#account = account;
    this.#parts = parts;
    this.ready = this.#begin();
  }

  /** Takes in a write of this node. */
  told({ how, record }: Written): void {
    const kind = streamedByKind.get(record.kind);
    if (!kind || this.#isOver) return;
    const key = keyOf(kind, record.id);
    this.#touched?.add(key);
    const shown = how === "remove" ? undefined : kind.show(record);
    if (!shown) {
      const { resource } = kind;
      this.#forget(key, this.#known.get(key) ?? { resource, id: record.id, version: record.version });
      return;
    }
    if (how === "insert") this.#gone.delete(key);
    if (this.#gone.has(key) || (this.#known.get(key)?.version ?? 0) >= shown.version) return;
    this.#learn(key, shown);
  }

  /** Somebody has listed this record through this node, and must hear of its removal even if no signal told of the record. */
  listed(kind: Streamed, record: StoredRecord): void {
    const key = keyOf(kind, record.id);
    if (this.#isOver || this.#gone.has(key) || (this.#known.get(key)?.version ?? 0) >= record.version) return;
    const shown = kind.show(record);
    if (!shown) return;
    this.#touched?.add(key);
    this.#learn(key, shown);
  }

  /** Another node wrote records of this kind, and removed `removed` of them. */
  hinted(kind: Streamed, removed: number): void {
    this.#due.add(kind);
    this.#unseen.set(kind, (this.#unseen.get(kind) ?? 0) + removed);
    this.#soon ??= this.#parts.clock.after(LOOK_MS, () => {
      this.#soon = undefined;
      this.#parts.background(this.#look());
    });
  }

  /** Reads everything, which also finds changes that nobody reported. */
  async lookAtAll(): Promise<void> {
    for (const kind of streamed) this.#due.add(kind);
    await this.#look();
    this.#unseen.clear();
    for (const id of this.#endpoints()) this.#heat(id);
    this.stir();
  }

  /** Resolves once there may be something to read. */
  stirred(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  stir(): void {
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  close(): void {
    this.#isOver = true;
    for (const timer of [this.#gathering, this.#counting, this.#soon]) timer?.cancel();
    for (const stop of this.#stopListening.values()) stop();
    this.stir();
  }

  async #begin(): Promise<void> {
    for (const kind of streamed) this.#due.add(kind);
    await this.#look();
    this.#isReady = true;
    for (const id of this.#endpoints()) this.#heat(id);
  }

  /** Only one read runs at a time. It also covers what becomes due meanwhile. */
  #look(): Promise<void> {
    this.#looking ??= this.#lookAtDue().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookAtDue(): Promise<void> {
    for (const kind of this.#due) {
      this.#due.delete(kind);
      this.#touched = new Set();
      try {
        await this.#compare(kind, this.#touched);
      } finally {
        this.#touched = undefined;
      }
      if (this.#isOver) return;
    }
  }

  async #compare(kind: Streamed, touched: ReadonlySet<string>): Promise<void> {
    const found = await this.#read(kind);
    for (const [key, shown] of found)
      if (!touched.has(key) && this.#known.get(key)?.version !== shown.version) this.#learn(key, shown);
    const missing = [...this.#known].filter(
      ([key, { resource }]) => resource === kind.resource && !found.has(key) && !touched.has(key),
    );
    for (const [key, known] of missing) this.#forget(key, known);
    this.#settleUnseen(kind, missing.length);
  }

  /** A reader may have listed a record that came and went between two reads here. The reset makes readers fetch the lists again. */
  #settleUnseen(kind: Streamed, found: number): void {
    const unseen = (this.#unseen.get(kind) ?? 0) - found;
    this.#unseen.set(kind, Math.min(0, unseen));
    if (unseen > 0)
      this.#gather("reset", { type: "reset", why: "records were removed that were not read here before" });
  }

  async #read(kind: Streamed): Promise<Map<string, Shown>> {
    const found = new Map<string, Shown>();
    const selection = { kind: kind.kind, account: this.#account, ...(kind.key && { key: kind.key }) };
    for (let after: { createdAt: number; id: string } | undefined, more = true; more; ) {
      const page = await this.#parts.store.list({ ...selection, after, limit: PAGE });
      for (const record of page) {
        const shown = kind.show(record);
        if (shown) found.set(keyOf(kind, record.id), shown);
      }
      after = page.at(-1);
      more = page.length === PAGE;
    }
    return found;
  }

  #learn(key: string, shown: Shown): void {
    this.#gone.delete(key);
    this.#known.set(key, shown);
    if (shown.resource === "serverless") this.#watchJobs(shown.id);
    this.#gather(key, { type: "changed", ...shown });
  }

  #forget(key: string, { resource, id, version, endpointId }: Shown): void {
    if (this.#gone.has(key)) return;
    this.#gone.add(key);
    if (this.#gone.size > MOST_GONE) this.#gone.delete(this.#gone.values().next().value!);
    this.#known.delete(key);
    if (resource === "serverless") this.#leaveJobs(id);
    this.#gather(key, { type: "removed", resource, id, version, ...(endpointId !== undefined && { endpointId }) });
  }

  #gather(key: string, event: AccountEvent): void {
    // Records that existed at the beginning are not changes.
    if (!this.#isReady) return;
    this.#gathered.delete(key);
    this.#gathered.set(key, event);
    this.#gathering ??= this.#parts.clock.after(GATHER_MS, () => {
      this.#gathering = undefined;
      for (const event of this.#gathered.values()) this.backlog.add(event);
      this.#gathered.clear();
      this.stir();
    });
  }

  *#endpoints(): Generator<string> {
    for (const { resource, id } of this.#known.values()) if (resource === "serverless") yield id;
  }

  /** Each new job signals work for its endpoint. From then on its jobs are counted until none is left and the counts stay the same. */
  #watchJobs(endpoint: string): void {
    if (this.#stopListening.has(endpoint)) return;
    this.#stopListening.set(
      endpoint,
      this.#parts.signals.listen(`work:${endpoint}`, () => this.#heat(endpoint)),
    );
    if (this.#isReady) this.#heat(endpoint);
  }

  #leaveJobs(endpoint: string): void {
    this.#stopListening.get(endpoint)?.();
    this.#stopListening.delete(endpoint);
    this.#hot.delete(endpoint);
    this.#counts.delete(endpoint);
    this.#gathered.delete(jobsKey(endpoint));
  }

  #heat(endpoint: string): void {
    if (this.#isOver) return;
    this.#hot.add(endpoint);
    this.#counting ??= this.#parts.clock.after(COUNT_MS, () => {
      this.#counting = undefined;
      this.#parts.background(this.#count());
    });
  }

  async #count(): Promise<void> {
    const counted = [...this.#hot].slice(0, COUNTED_AT_ONCE);
    // Endpoints that need another count go to the end, so that each gets its turn.
    for (const endpoint of counted) this.#hot.delete(endpoint);
    const later = [...this.#hot];
    for (const endpoint of counted) {
      const counts = shownCounts(await this.#parts.queue.counts(endpoint));
      if (this.#isOver || !this.#stopListening.has(endpoint)) continue;
      if (this.#note(endpoint, counts) || counts.inQueue + counts.inProgress > 0) later.push(endpoint);
    }
    for (const endpoint of later) this.#heat(endpoint);
  }

  #note(endpoint: string, counts: JobCounts): boolean {
    const before = this.#counts.get(endpoint);
    if (before && countNames.every((name) => before[name] === counts[name])) return false;
    this.#counts.set(endpoint, counts);
    this.#gather(jobsKey(endpoint), { type: "jobs", endpointId: endpoint, jobs: counts });
    return true;
  }
}

const countNames = ["inQueue", "inProgress", "completed", "failed", "retried"] as const;

const shownCounts = ({ inQueue, inProgress, completed, failed, retried }: Counts): JobCounts => ({
  ...{ inQueue, inProgress, completed, failed, retried },
});

const keyOf = ({ resource }: Streamed, id: string) => `${resource}/${id}`;
const jobsKey = (endpoint: string) => `jobs/${endpoint}`;
