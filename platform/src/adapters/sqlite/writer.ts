/** Group commit for SQLite: all commands go to one writer, and each answer comes after the commit that contains it. */
import { statSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import { cannotGoOn } from "../../kernel/cannot-go-on.ts";
import { floating } from "../../kernel/floating.ts";
import { problem } from "../../kernel/problem.ts";
import { THREAD_MEMORY } from "../../kernel/thread-memory.ts";
import { anyDisk, type Disk, isFull } from "../../ports/disk.ts";

/** A command's name and its input, as they are sent to the writer's thread. */
export interface Command {
  name: string;
  input: unknown;
}

/**
 * The program beside the database. Commands of one batch share a transaction, so a command that refuses must return its refusal before it
 * writes anything. A command that throws fails the whole batch.
 */
export interface Program {
  migrations: readonly string[];
  commands: Record<string, (db: DatabaseSync, input: never) => unknown>;
  /** How inputs travel to the writer's thread, if not as they are. */
  wire?: Wire;
}

export interface Wire {
  pack(input: unknown): unknown;
  unpack(packed: unknown): unknown;
}

/** A batch with its inputs as they travel, or as they were before. */
export const converted = (batch: readonly Command[], convert: (input: unknown) => unknown): Command[] =>
  batch.map(({ name, input }) => ({ name, input: convert(input) }));

/** The programs that the writer's thread knows. */
export type ProgramName = "queue" | "store";

/** What became of the write-ahead log. It is in use while another connection reads an older state, writes, or empties it too. */
export type Emptying = "emptied" | "in-use" | "disk-full";

export type Flushed = { outputs: unknown[] } | { failed: string; isFull?: boolean };

/** Runs batches on a connection, in the writer's thread or on the calling one. */
export class BatchRunner {
  readonly #db: DatabaseSync;
  readonly #program: Program;
  readonly #place: WrittenPlace;

  constructor(file: string, program: Program, db = openDatabase(file)) {
    this.#db = db;
    migrate(this.#db, program.migrations, file);
    this.#program = program;
    this.#place = new WrittenPlace(`${file}-wal`);
  }

  /** `committing` is called when only the commit is left to do. */
  run(batch: Command[], committing?: () => void): Flushed {
    try {
      if (this.#place.wasGone) this.#place.check();
      this.#db.exec("BEGIN IMMEDIATE");
      const outputs = batch.map(({ name, input }) => this.#program.commands[name]!(this.#db, input as never));
      committing?.();
      this.#db.exec("COMMIT");
      this.#place.check();
      return { outputs };
    } catch (error) {
      rollBack(this.#db);
      return { failed: (error as Error).message, ...(isFull(error) && { isFull: true }) };
    }
  }

  /** Empties the write-ahead log, so that deleted text is in no file any more. */
  checkpoint(): Emptying {
    // All writers wait meanwhile, so this waits only a moment for others.
    this.#db.exec(`PRAGMA busy_timeout = ${CHECKPOINT_WAIT_MS}`);
    try {
      const { busy } = this.#db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get() as { busy: number };
      return busy === 0 ? "emptied" : "in-use";
    } catch (error) {
      // The log keeps its content until there is space for it in the file.
      if (isFull(error)) return "disk-full";
      throw error;
    } finally {
      this.#db.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`);
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** Some failures end the transaction by themselves. */
function rollBack(db: DatabaseSync): void {
  try {
    if (db.isTransaction) db.exec("ROLLBACK");
  } catch {
    // This error matters less than the original one, and the next batch begins a new transaction.
  }
}

/** Detects that the file was moved or removed: everything written to it would be lost with this process, without any other error. */
class WrittenPlace {
  readonly #file: string;
  #inode: number | undefined;
  wasGone = false;

  constructor(file: string) {
    this.#file = file;
  }

  check(): void {
    const inode = statSync(this.#file, { throwIfNoEntry: false })?.ino;
    this.#inode ??= inode;
    this.wasGone = inode === undefined || inode !== this.#inode;
    if (this.wasGone) throw new Error("the data folder was moved or removed while the server ran");
  }
}

const BUSY_WAIT_MS = 10_000;
/** How often others may take the space that was released for a batch before the batch is refused. */
const MOST_RELEASES = 20;
const CHECKPOINT_WAIT_MS = 100;

export function openDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  // FULL makes a commit survive power loss, not only a crash. secure_delete overwrites deleted content.
  db.exec(
    `PRAGMA busy_timeout = ${BUSY_WAIT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON`,
  );
  return db;
}

/** A second connection for reading on the main thread. It sees a commit as soon as the writer has made it. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true });
  db.exec(`PRAGMA busy_timeout = ${BUSY_WAIT_MS}`);
  return db;
}

export const schemaOf = (db: DatabaseSync) =>
  Number((db.prepare("PRAGMA user_version").get() as { user_version: number }).user_version);

/** Migrates forward only. Two processes that start at the same time take turns, and the second finds nothing to do. */
export function migrate(db: DatabaseSync, migrations: readonly string[], file: string): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    const done = schemaOf(db);
    if (done > migrations.length) {
      throw new Error(
        `${file} has schema ${done}, but this release of Millrace knows schemas up to ${migrations.length}: ` +
          "it was written by a newer release; start that one, or restore a backup made before the upgrade",
      );
    }
    for (const migration of migrations.slice(done)) db.exec(migration);
    db.exec(`PRAGMA user_version = ${migrations.length}`);
    db.exec("COMMIT");
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

interface Waiting {
  command: Command;
  resolve(output: unknown): void;
  reject(error: unknown): void;
}

/** Writes batches to disk. */
export interface Flusher {
  /** Resolves when a batch may be closed. Without it, a batch closes at the end of the current turn. */
  gathered?(): Promise<void>;
  /** Opens what a flush needs, if it is not open yet. */
  prepare?(): void;
  flush(batch: Command[]): Promise<Flushed>;
  /** Tries once to empty the write-ahead log. */
  checkpoint(): Promise<Emptying>;
  close(): Promise<void>;
}

interface Failing {
  failTogether?: (() => void) | undefined;
  /** The disk whose reserved space is released when a batch finds it full. */
  disk?: Disk | undefined;
  /** Called when the state in memory can no longer be trusted. */
  lost?: (reason: string, cause: unknown) => void;
}

/**
 * No timer forms batches: a command that finds the writer idle starts a flush, and commands that arrive during that flush form the next
 * batch. The busier the disk, the larger the batches.
 */
export class GroupCommit {
  readonly #flusher: Flusher;
  readonly #failTogether: (() => void) | undefined;
  readonly #disk: Disk;
  readonly #lost: (reason: string, cause: unknown) => void;
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;
  /** How many flushes there were. A test reads it to see that an answer came after one. */
  flushes = 0;

  /**
   * With `failTogether`, a failed batch also fails the commands behind it, because they were decided on its effects. It is called before
   * anybody hears of the failure, so that nothing is decided on the same basis in between.
   */
  constructor(flusher: Flusher, { failTogether, lost = cannotGoOn, disk = anyDisk }: Failing = {}) {
    this.#flusher = flusher;
    this.#lost = lost;
    this.#failTogether = failTogether;
    this.#disk = disk;
  }

  run<Output>(name: string, input: unknown): Promise<Output> {
    if (this.#closed)
      return Promise.reject(problem("unavailable", "The server is shutting down.", { reason: "server-ending" }));
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ command: { name, input }, resolve, reject });
      this.#flushing ??= this.#drain();
    }) as Promise<Output>;
  }

  async checkpoint(): Promise<Emptying> {
    await this.#flushing;
    return this.#flusher.checkpoint();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#flushing;
    await this.#flusher.close();
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#flusher.gathered?.();
      const batch = this.#waiting;
      this.#waiting = [];
      const flushed = await this.#flush(batch);
      if ("failed" in flushed && this.#failTogether) {
        batch.push(...this.#waiting.splice(0));
        this.#startAnew(this.#failTogether);
      }
      settle(batch, flushed);
    }
    this.#flushing = undefined;
  }

  /** If the state in memory is ahead of the disk and cannot be read again, no further command is accepted. */
  #startAnew(failTogether: () => void): void {
    try {
      failTogether();
    } catch (error) {
      this.#closed = true;
      this.#lost("what is kept could not be read anew after a write that failed", error);
    }
  }

  async #flush(batch: Waiting[]): Promise<Flushed> {
    const commands = batch.map(({ command }) => command);
    try {
      let flushed = await this.#flusher.flush(commands);
      for (let tries = 0; tries < MOST_RELEASES && "failed" in flushed && flushed.isFull; tries++) {
        if (!(await this.#disk.release())) break;
        flushed = await this.#flusher.flush(commands);
      }
      this.flushes++;
      return flushed;
    } catch (error) {
      return { failed: (error as Error).message };
    }
  }
}

/** No new work is accepted when the disk has no space left to finish it. */
export function refuseNew({ refusal }: Disk): void {
  if (refusal !== undefined)
    throw problem("unavailable", `The data folder could not be written: ${refusal}`, { reason: "disk-full" });
}

function settle(batch: Waiting[], flushed: Flushed): void {
  if ("failed" in flushed) {
    const error = problem("unavailable", `The data folder could not be written: ${flushed.failed}`);
    for (const { reject } of batch) reject(error);
    return;
  }
  for (const [index, { resolve }] of batch.entries()) resolve(flushed.outputs[index]);
}

/** Lets a thread use the same compile cache: it starts in 90 ms instead of 300 (measured). It needs no other variable. */
function compiledCode(): Record<string, string> {
  const folder = getCompileCacheDir();
  // Node reports its own subfolder of the folder that was set.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: dirname(folder) };
}

/** A flusher in a thread of its own, so that no flush blocks the event loop. `wire` is that of the program. */
export async function threadFlusher(file: string, program: ProgramName, wire?: Wire): Promise<Flusher> {
  const thread = new Worker(new URL("./writer-thread.ts", import.meta.url), {
    workerData: { file, program },
    env: compiledCode(),
    resourceLimits: THREAD_MEMORY,
  });
  // The thread answers in the order it was asked.
  const pending: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
  let dead: Error | undefined;
  /** Whether the flusher is in use. Before that, a thread that cannot start only fails the call that opens it. */
  let isInUse = false;
  thread.on("message", (message) => {
    pending.shift()?.resolve(message);
    if (pending.length === 0) thread.unref();
  });
  thread.on("error", (error) => fail(error as Error));
  thread.on("exit", (code) => fail(new Error(`the writer thread ended with code ${code}`)));

  /** A thread that ended unexpectedly does not come back, and nothing could be written until the next start. */
  function fail(error: Error): void {
    if (!dead && isInUse) cannotGoOn("the thread that writes to the disk ended", error);
    dead ??= error;
    for (const { reject } of pending.splice(0)) reject(dead);
  }

  function ask(message?: unknown): Promise<unknown> {
    if (dead) return Promise.reject(dead);
    thread.ref();
    return new Promise((resolve, reject) => {
      pending.push({ resolve, reject });
      if (message !== undefined) thread.postMessage(message);
    });
  }

  await ask();
  isInUse = true;
  return {
    flush: (batch) => ask({ batch: wire ? converted(batch, wire.pack) : batch }) as Promise<Flushed>,
    checkpoint: () => ask({ checkpoint: true }) as Promise<Emptying>,
    async close() {
      if (dead) return;
      isInUse = false;
      const ended = new Promise((resolve) => thread.once("exit", resolve));
      thread.ref();
      thread.postMessage({ close: true });
      await ended;
    },
  };
}

/** Opens a flusher when it is first needed. If that fails, the batch is refused with the reason, and the next one tries again. */
export function lateFlusher(open: () => Promise<Flusher>): Flusher {
  let opening: Promise<Flusher> | undefined;
  const opened = () => {
    opening ??= open().catch((error) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    prepare: () => floating(opened(), () => {}),
    flush: async (batch) => (await opened()).flush(batch),
    checkpoint: async () => (await opened()).checkpoint(),
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
}

/** A flusher on the calling thread, for short-lived commands, which have no event loop to keep free. */
export function inlineFlusher(file: string, program: Program): Flusher {
  const runner = new BatchRunner(file, program);
  return {
    flush: async (batch) => runner.run(batch),
    checkpoint: async () => runner.checkpoint(),
    close: async () => runner.close(),
  };
}
