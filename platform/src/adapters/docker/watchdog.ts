/** Ends an installation's workers when its server has died for good: a process of its own, tied to the server by a pipe. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Clock } from "../../kernel/clock.ts";

export interface WatchdogOptions {
  /** A file with the token of the newest watchdog. An older watchdog finds another token there and exits. */
  file: string;
  /** How long a new server may take to come before the workers are ended. */
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

  /** Starts the watchdog with the first worker. If it has died, the next worker starts another. */
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
    // The watchdog has a session of its own, so that Ctrl+C in the server's terminal does not end it. Nothing is written to the pipe. The
    // system closes the pipe when this process ends, for whatever reason.
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

  /** The watchdog takes this for the server's end. It stays only while there are workers. */
  [Symbol.dispose](): void {
    this.#process?.stdin?.destroy();
  }
}
