/** Sees to it that workers end when the server is gone for good, and clears the machine then: a small process that outlives it. */
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
  /** What the server leaves on the machine: its bridge, its table of rules, its control groups. */
  traces: readonly string[] = [];
  #starting: Promise<void> | undefined;

  constructor(folder: string, patienceS: number, clock: Clock) {
    this.#clock = clock;
    this.#folder = folder;
    this.#patienceS = patienceS;
  }

  /** Says who the server is now, and ends the watchdog of the one before, which might be about to clear the machine. */
  async takeOver(): Promise<void> {
    await writeFile(this.#file("server"), await readFile("/proc/self/stat", "utf8"));
    await this.#end();
  }

  /** Starts one unless one lives. */
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
    // It writes this itself too, but perhaps not before somebody asks again.
    const line = await readFile(`/proc/${child.pid}/stat`, "utf8").catch(() => undefined);
    if (line) await writeFile(this.#file("watchdog"), line);
  }

  async #living() {
    const line = await readFile(this.#file("watchdog"), "utf8").catch(ifNotThere(""));
    const identity = parseStat(line);
    return identity && (await isAlive(identity)) ? identity : undefined;
  }

  /** The server goes. Whatever it leaves running is the watchdog's; without that the watchdog goes too. */
  async leave(anythingRuns: boolean): Promise<void> {
    await this.#starting;
    await rm(this.#file("server"), { force: true });
    if (anythingRuns) return;
    await this.#end();
  }

  async #end(): Promise<void> {
    const living = await this.#living();
    // Its group: what it waits for ends with it.
    if (living) {
      sendSignal(-living.pid, "SIGKILL");
      await this.#gone(living.pid);
    }
    await rm(this.#file("watchdog"), { force: true });
  }

  /** What it was about to clear is safe once nobody of its group is left: a bridge is deleted in one call, which a signal does not stop. */
  async #gone(group: number): Promise<void> {
    const untilMs = this.#clock.monotonic() + END_PATIENCE_MS;
    while ((await withGroup(group)).length > 0 && this.#clock.monotonic() < untilMs)
      await sleep(this.#clock, LOOK_AGAIN_MS);
  }

  #file(name: string): string {
    return join(this.#folder, `.${name}`);
  }
}
