/** Starts the small process that outlives the server: it ends the workers and clears the machine when the server is gone for good. */
import { spawn } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { ifNotThere } from "../../kernel/not-there.ts";
import { isAlive, parseStat, sendSignal, withGroup } from "../machine/processes.ts";
import { TOOL_ENVIRONMENT } from "../machine/tools.ts";

const END_PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 5;
const SCRIPT = join(import.meta.dirname, "watchdog.sh");

export class Watchdog {
  readonly #folder: string;
  readonly #patienceS: number;
  readonly #clock: Clock;
  /** What the server leaves on the machine: its bridge, its table of rules and its control groups. */
  traces: readonly string[] = [];
  #starting: Promise<void> | undefined;

  constructor(folder: string, patienceS: number, clock: Clock) {
    this.#clock = clock;
    this.#folder = folder;
    this.#patienceS = patienceS;
  }

  /** Records this process as the server, and ends the earlier server's watchdog, which might be about to clear the machine. */
  async takeOver(): Promise<void> {
    await writeFile(this.#file("server"), await readFile("/proc/self/stat", "utf8"));
    await this.#end();
  }

  /** Starts a watchdog unless one is running. */
  async ensure(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    if (await this.#living()) return;
    const child = spawn("/bin/sh", [SCRIPT, this.#folder, String(this.#patienceS), ...this.traces], {
      detached: true,
      stdio: "ignore",
      cwd: "/",
      env: TOOL_ENVIRONMENT,
    });
    child.on("error", () => {});
    child.unref();
    // The watchdog also writes this file itself, but perhaps not before the next check.
    const line = await readFile(`/proc/${child.pid}/stat`, "utf8").catch(() => undefined);
    if (line) await writeFile(this.#file("watchdog"), line);
  }

  async #living() {
    const line = await readFile(this.#file("watchdog"), "utf8").catch(ifNotThere(""));
    const identity = parseStat(line);
    return identity && (await isAlive(identity)) ? identity : undefined;
  }

  /** Called when the server ends. The watchdog looks after instances that still run; if there are none, it ends too. */
  async leave(anythingRuns: boolean): Promise<void> {
    await this.#starting;
    await rm(this.#file("server"), { force: true });
    if (anythingRuns) return;
    await this.#end();
  }

  async #end(): Promise<void> {
    const living = await this.#living();
    // Signals the process group, so that the commands the watchdog waits for end too.
    if (living) {
      sendSignal(-living.pid, "SIGKILL");
      await this.#gone(living.pid);
    }
    await rm(this.#file("watchdog"), { force: true });
  }

  /**
   * Waits until no process of the watchdog's group is left. Deleting a bridge is one system call that a signal does not stop, so only then
   * the machine is safe.
   */
  async #gone(group: number): Promise<void> {
    const untilMs = this.#clock.monotonic() + END_PATIENCE_MS;
    while ((await withGroup(group)).length > 0 && this.#clock.monotonic() < untilMs)
      await sleep(this.#clock, LOOK_AGAIN_MS);
  }

  #file(name: string): string {
    return join(this.#folder, `.${name}`);
  }
}
