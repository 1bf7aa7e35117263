/** Passes the audit log on, line by line, to whoever keeps it outside of Millrace. It holds up no change, and says what it lost. */
import { type Clock, type Timer, timestamp } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { LineKeeper } from "../../kernel/line-keeper.ts";
import type { Log } from "../../kernel/log.ts";
import type { Collection } from "../../ports/store/collection.ts";
import type { Written } from "../../ports/store/watched-store.ts";
import { auditEntries, type KeptAuditEntry } from "./model.ts";

interface LineCounts {
  written: number;
  lost: number;
}

export interface AuditLinesParts {
  watched: { watch(heard: (written: readonly Written[]) => void): () => void };
  entries: Pick<Collection<KeptAuditEntry>, "read">;
  keeper: LineKeeper;
  counts: LineCounts;
  /** The id of this node. */
  node: string;
  clock: Clock;
  log: Log;
}

/** Lines that wait, at most. While the keeper is away for longer, the newest are lost, and counted. */
const MOST_WAITING = 10_000;
const BATCH = 500;
const AGAIN_MS = 5000;
/** A keeper that fails is said once in this time. */
const SAID_EVERY_MS = 60_000;
/** At the end of the server, a keeper that is away is not waited for. */
const LAST_TRIES = 2;

export class AuditLines implements AsyncDisposable {
  readonly #parts: AuditLinesParts;
  readonly #stop: () => void;
  #waiting: string[] = [];
  /** Lines that were lost since the last one that was kept. */
  #lost = 0;
  #keeping: Promise<void> | undefined;
  #again: Timer | undefined;
  #saidAtMs = Number.NEGATIVE_INFINITY;
  #isEnding = false;

  constructor(parts: AuditLinesParts) {
    this.#parts = parts;
    this.#stop = parts.watched.watch((written) => this.#heard(written));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop();
    this.#isEnding = true;
    this.#again?.cancel();
    for (let tries = 0; tries < LAST_TRIES && this.#waiting.length > 0; tries++) await this.#start();
    await this.#keeping;
    if (this.#waiting.length > 0) this.#sayLeft(this.#waiting.length);
  }

  /** The next start knows nothing of these lines, so it could not say that they are lost. */
  #sayLeft(lost: number): void {
    const { log, keeper, counts } = this.#parts;
    counts.lost += lost;
    log.error({ lost }, `the server ends, and lines of the audit log were not written to ${keeper.name}`);
  }

  /** This is called with each commit of the server, so it only picks entries out. */
  #heard(written: readonly Written[]): void {
    let isNew = false;
    for (const { how, record } of written) {
      if (record.kind !== auditEntries.kind || how === "remove") continue;
      isNew = true;
      this.#add(this.#line(record));
    }
    if (isNew && !this.#again) floating(this.#start(), () => {});
  }

  #line(record: Written["record"]): string {
    const { id, account, createdAt, doc } = this.#parts.entries.read(record);
    // The format of the record concerns nobody outside.
    return JSON.stringify({ at: timestamp(createdAt), node: this.#parts.node, id, ...doc, account, v: undefined });
  }

  #add(line: string): void {
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push(line);
    else {
      this.#lost++;
      this.#parts.counts.lost++;
    }
  }

  #start(): Promise<void> {
    this.#keeping ??= this.#keepAll().finally(() => {
      this.#keeping = undefined;
    });
    return this.#keeping;
  }

  /** Never rejects. */
  async #keepAll(): Promise<void> {
    const { keeper, counts, clock } = this.#parts;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, BATCH);
      // The loss comes behind the last line that waited when lines were lost, and is said once.
      const lost = this.#waiting.length <= BATCH ? this.#lost : 0;
      try {
        await keeper.keep(lost > 0 ? [...batch, this.#loss(lost)] : batch);
      } catch (error) {
        this.#say(error);
        if (!this.#isEnding) this.#again = clock.after(AGAIN_MS, () => this.#tryAgain());
        return;
      }
      counts.written += batch.length;
      this.#waiting.splice(0, batch.length);
      this.#lost -= lost;
    }
  }

  #tryAgain(): void {
    this.#again = undefined;
    floating(this.#start(), () => {});
  }

  #loss(lost: number): string {
    const { node, clock } = this.#parts;
    return JSON.stringify({ at: timestamp(clock.now()), node, operation: "loseAuditLines", lost });
  }

  #say(error: unknown): void {
    const { clock, log, keeper, counts } = this.#parts;
    if (clock.monotonic() - this.#saidAtMs < SAID_EVERY_MS) return;
    this.#saidAtMs = clock.monotonic();
    log.error(
      { err: error, waiting: this.#waiting.length, lost: counts.lost },
      `the audit log cannot be written to ${keeper.name}`,
    );
  }
}
