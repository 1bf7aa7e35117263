/** Ends an installation's workers when its server has died and none has come back: a process of its own that the server holds by a pipe. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../kernel/clock.ts";

export interface WatchdogOptions {
  /** Holds the token of the newest watchdog; those before it find theirs gone, and leave. */
  file: string;
  /** How long a new server may take to come. */
  afterMs: number;
  installation: string;
  clock: Clock;
}

const PROGRAM = fileURLToPath(new URL("watchdog-program.ts", import.meta.url));

export class Watchdog implements Disposable {
  readonly #options: WatchdogOptions;
  #process: ChildProcess | undefined;
  #guarding: Promise<void> | undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
  }

  /** Starts it with the first worker; one that has died is replaced with the next. */
  guard(engine: string): Promise<void> {
    this.#guarding ??= this.#start(engine).catch((error) => {
      this.#guarding = undefined;
      throw error;
    });
    return this.#guarding;
  }

  async #start(engine: string): Promise<void> {
    const { file, afterMs, installation, clock } = this.#options;
    const token = `${process.pid} since ${clock.now()}`;
    await writeFile(file, token, { mode: 0o600 });
    // A session of its own: what ends the server, such as a key in its terminal, must not end the watchdog. Nothing is written to the
    // pipe; the system closes it with this process, whatever that process died of.
    const program = spawn(process.execPath, [PROGRAM, engine, installation, file, token, String(afterMs)], {
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
      env: {},
    });
    program.once("exit", () => {
      this.#guarding = undefined;
    });
    program.once("error", () => {
      this.#guarding = undefined;
    });
    await once(program, "spawn");
    program.unref();
    program.stdin!.on("error", () => {});
    (program.stdin as unknown as { unref(): void }).unref();
    this.#process = program;
  }

  /** For the watchdog this is the server's end: it stays only while there are workers. */
  [Symbol.dispose](): void {
    this.#process?.stdin?.destroy();
  }
}
