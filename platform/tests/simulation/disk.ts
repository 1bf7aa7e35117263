/** The disk of a simulated server. The scheduler decides when flushes end, whether they fail, and which a crash loses. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { program } from "../../src/adapters/sqlite/queue-program.ts";
import { SqliteJournal } from "../../src/adapters/sqlite/sqlite-journal.ts";
import {
  BatchRunner,
  type Command,
  type Flushed,
  type Flusher,
  GroupCommit,
  openDatabase,
} from "../../src/adapters/sqlite/writer.ts";
import { SeededRandom } from "../../src/kernel/random.ts";
import type { Entry, Journal } from "../../src/ports/queue/journal.ts";
import { MemoryJournal } from "../../src/ports/queue/memory-journal.ts";

export type DiskKind = "memory" | "sqlite";

/** Where batches are written. */
export interface Disk {
  /** Opens what earlier servers left. Every server has a connection of its own. */
  open(flush: Flush): Promise<Opened>;
  remove(): void;
}

export interface Opened {
  journal: Journal;
  /** Closes what the dead process had open, as its machine would. */
  crashed(): void;
}

/** Called for each batch. `commit` writes it to the disk. */
export type Flush = (batch: Entry[], commit: () => Promise<Flushed>) => Promise<Flushed>;

export function openDisk(kind: DiskKind): Disk {
  return kind === "memory" ? new MemoryDisk() : new SqliteDisk();
}

/**
 * Calls that are not overridden go to the target. A class with private fields can be wrapped in no other way. Each method is looked up and
 * bound once, since histories spend much of their time in such calls.
 */
export function overriding<T extends object>(target: T, overrides: Partial<T>): T {
  const rest = new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      const bound = value.bind(target);
      Object.defineProperty(wrapped, name, { value: bound, writable: true });
      return bound;
    },
    set: (_, name, value) => Reflect.set(target, name, value),
  });
  const wrapped = Object.create(rest, Object.getOwnPropertyDescriptors(overrides)) as T;
  return wrapped;
}

class MemoryDisk implements Disk {
  readonly #kept = new MemoryJournal();

  async open(flush: Flush): Promise<Opened> {
    let failed = () => {};
    const unpacked = (batch: Command[]) => batch.map(({ input }) => input as Entry[]);
    const flusher = flusherOf((batch) => flush(unpacked(batch).flat(), () => this.#commit(unpacked(batch))));
    const writer = new GroupCommit(flusher, { failTogether: () => failed() });
    const journal = overriding<Journal>(this.#kept, {
      write: async (entries) => (await writer.run<{ results: unknown[] }>("write", entries)).results,
      whenFailed(action) {
        failed = action;
      },
    });
    return { journal, crashed: () => undefined };
  }

  remove(): void {}

  async #commit(batch: Entry[][]): Promise<Flushed> {
    const results = await Promise.all(batch.map((entries) => this.#kept.write(entries)));
    return { outputs: results.map((results) => ({ results })) };
  }
}

class SqliteDisk implements Disk {
  readonly #folder = mkdtempSync(join(tmpdir(), "millrace-simulation-"));

  async open(flush: Flush): Promise<Opened> {
    const file = join(this.#folder, "queue.db");
    // A simulated crash loses only what was not flushed. The real disk plays no part, so it need not be waited for.
    const db = openDatabase(file);
    db.exec("PRAGMA synchronous = OFF");
    const runner = new BatchRunner(file, program, db);
    const unpacked = (batch: Command[]) => batch.flatMap(({ input }) => input as Entry[]);
    const flusher = flusherOf((batch) => flush(unpacked(batch), async () => runner.run(batch)));
    const journal = await SqliteJournal.open(file, join(this.#folder, "payloads"), flusher, new SeededRandom(0));
    const crashed = () => {
      void journal.close();
      runner.close();
    };
    return { journal, crashed };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

function flusherOf(flush: Flusher["flush"]): Flusher {
  return { flush, checkpoint: async () => "emptied", close: async () => undefined };
}
