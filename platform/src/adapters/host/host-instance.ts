/** One instance on this machine: its processes, its end and its output, even if an earlier process of the server started it. */

import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { OneAtATime } from "../../kernel/one-at-a-time.ts";
import { whileThere } from "../../kernel/wait.ts";
import type { Exit, Instance, InstanceState, Output } from "../../ports/compute/compute.ts";
import { DISK_IS_FULL } from "../../ports/disk.ts";
import {
  childrenOf,
  commandOf,
  descendants,
  type Identity,
  identityOf,
  isAlive,
  numbersOf,
  sendSignal,
  withCommand,
  withVariable,
} from "../machine/processes.ts";
import type { Cgroups } from "./cgroups.ts";
import { memberAddress } from "./group-bridges.ts";
import { EXIT, type InstanceFolder, type KeptInstance } from "./instance-folder.ts";
import { isSegment, OutputReader, parsePosition } from "./output-file.ts";

const LOOK_AGAIN_MS = 3;
/** The program's process number inside the sandbox. Bubblewrap is the first process there and starts the program as the second. */
const PROGRAM_NUMBER = 2;
const KILLED = 137;
/** A shell's exit statuses for a program that does not exist or cannot be run. */
const NOT_FOUND = [126, 127];
/** How long the last output of a program may take to reach the disk. Another process that inherited the pipe may hold it open. */
const LAST_WORDS_MS = 2_000;

/** The beginnings of the commands of every launcher and of the process that keeps its output. The instance's folder comes next. */
export const LAUNCH = ["/bin/sh", join(import.meta.dirname, "launch.sh")] as const;
const KEEP = ["/bin/sh", join(import.meta.dirname, "keep.sh")] as const;

/** The variable that marks a program's processes. They are found by it where no control group holds them together. */
export const MARK = "MILLRACE_INSTANCE";

export interface InstanceParts {
  clock: Clock;
  cgroups: Cgroups | undefined;
  /** Whether the program runs in namespaces of its own. */
  sandboxed: boolean;
  changed: (instance: HostInstance) => void;
  failed: (error: unknown) => void;
}

/** The system notifies of ends and of new output. Every few looks both are also looked for without a notification. */
const LOOKS_PER_STIR = 5;

interface FirstProcesses {
  launcher: Identity;
  program: Identity;
}

export class HostInstance {
  readonly id: string;
  readonly folder: InstanceFolder;
  readonly kept: KeptInstance;
  readonly whenEnded: Promise<void>;
  readonly #parts: InstanceParts;
  readonly #ended: () => void;
  #launcher: Identity | undefined;
  #state: InstanceState = "running";
  #exit: Exit | undefined;
  #ending: Promise<void> | undefined;
  #watcher: FSWatcher | undefined;
  #looks = 0;
  #wake = Promise.withResolvers<void>();
  /** Freezing and thawing must not overlap. */
  readonly #turn = new OneAtATime();
  /** Whether the server has stopped following the instance. */
  #gone = false;
  /** Settles when it is known whether the sandbox hides the program. */
  #explained: Promise<void> = Promise.resolve();
  /** Why the platform ends it for good. */
  #verdict: string | undefined;

  constructor(id: string, folder: InstanceFolder, kept: KeptInstance, parts: InstanceParts) {
    this.id = id;
    this.folder = folder;
    this.kept = kept;
    this.#parts = parts;
    const ended = Promise.withResolvers<void>();
    this.whenEnded = ended.promise;
    this.#ended = ended.resolve;
  }

  get isEnded(): boolean {
    return this.#exit !== undefined;
  }

  view(): Instance {
    const { kind, owner, startedAt, gpus, group, published, address: index = 0 } = this.kept;
    const about = { id: this.id, kind, owner, state: this.#state, startedAt };
    const place = { ...(group && { address: memberAddress({ ...group, index }) }), ...(published && { published }) };
    const ending = this.#exit ? { exit: this.#exit } : place;
    return { ...about, ...(gpus.length > 0 && { devices: gpus }), ...ending };
  }

  /** Starts to follow the program's end and its output. */
  async follow(launcher: Identity | undefined): Promise<void> {
    this.#launcher = launcher;
    this.#watch();
    if (await this.#parts.cgroups?.isFrozen(this.id)) this.#state = "frozen";
    await this.look();
  }

  /** Takes note of why the sandbox will not find the program. That is looked for beside the start, since few programs need it. */
  explainedBy(unseen: Promise<string | undefined>): void {
    this.#explained = this.#explain(unseen).catch(this.#parts.failed);
  }

  async #explain(unseen: Promise<string | undefined>): Promise<void> {
    const reason = await unseen;
    if (reason === undefined || this.#gone) return;
    this.kept.unseen = reason;
    await this.folder.keep(this.kept);
  }

  #watch(): void {
    try {
      this.#watcher = watch(this.folder.path, { persistent: false }, (_, name) => {
        if (name === EXIT) floating(this.look(), this.#parts.failed);
        if (name !== null && isSegment(name)) this.#stir();
      });
      this.#watcher.on("error", () => {});
    } catch {
      // The machine has no file watches left. The regular looks find the same changes, later.
    }
  }

  /**
   * The clock calls it every few seconds, for what no event tells: that somebody killed the launcher. Nearly all of these looks find nothing,
   * at hundreds of instances, so every few of them only looks for everything else, in case an event was lost.
   */
  async lookAgain(): Promise<void> {
    if (this.#exit || this.#gone) return;
    const isForAll = !this.#watcher || this.#looks++ % LOOKS_PER_STIR === 0;
    if (isForAll) this.#stir();
    if (isForAll || !(this.#launcher && (await isAlive(this.#launcher)))) await this.look();
  }

  /** Checks whether the program has ended. Events call it, and the clock does where no event came. Safe to repeat. */
  async look(): Promise<void> {
    if (this.#exit || this.#gone) return;
    if ((await this.folder.exit()) === undefined && (await this.#isLaunched())) return;
    this.#ending ??= this.#end().catch((error) => {
      // The next look tries again.
      this.#ending = undefined;
      throw error;
    });
    await this.#ending;
  }

  async #isLaunched(): Promise<boolean> {
    this.#launcher ??= await this.folder.identity();
    // On a full disk the launcher could not record its identity. Its processes are then found by their commands.
    return this.#launcher ? isAlive(this.#launcher) : (await this.#remains()).length > 0;
  }

  /** Ends the processes that the program left behind, waits for its last output and finds out how it ended. */
  async #end(): Promise<void> {
    const seen = (await this.folder.exit()) !== undefined;
    await this.#killRest();
    await this.#lastWords(seen);
    const exit = (seen && (await this.folder.exit())) || (await this.#unseenExit());
    const killed = exit.signal === "SIGKILL" && exit.reason === undefined;
    if (killed && (await this.#parts.cgroups?.outOfMemory(this.id))) {
      exit.reason = `out of memory: may use ${this.kept.memoryMb} MB`;
      exit.cause = "out-of-memory";
      await this.folder.keepReason(exit.reason, exit.cause);
    }
    if (NOT_FOUND.includes(exit.code ?? 0)) await this.#explained;
    if (NOT_FOUND.includes(exit.code ?? 0) && exit.reason === undefined && this.kept.unseen !== undefined) {
      exit.reason = this.kept.unseen;
      await this.folder.keepReason(exit.reason);
    }
    if (this.#verdict !== undefined) {
      Object.assign(exit, { reason: this.#verdict, cause: "filled-disk", isFinal: true });
      await this.folder.keepVerdict(this.#verdict);
    }
    this.#exit = exit;
    this.#state = "exited";
    this.#ended();
    this.#stir();
    this.#tell();
  }

  async #unseenExit(): Promise<Exit> {
    const [reason, cause] = (await this.folder.hasRoom())
      ? ([
          "its end was not seen: the machine restarted, or the process that watched it was ended",
          "ended-outside",
        ] as const)
      : ([`its end was not seen: ${DISK_IS_FULL}`, "filled-disk"] as const);
    await this.folder.keepReason(reason, cause);
    await this.folder.keepExit(KILLED);
    return { code: null, signal: "SIGKILL", at: this.#parts.clock.now(), reason, cause };
  }

  /** The launcher ends once all output is on disk. If the launcher was killed, the processes that it left behind end instead. */
  async #lastWords(seen: boolean): Promise<void> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonic() + LAST_WORDS_MS;
    const isKeeping = async () => (seen ? this.#isLaunched() : (await this.#remains()).length > 0);
    while (await isKeeping()) {
      if (clock.monotonic() > untilMs) return this.#endLauncher();
      await sleep(clock, LOOK_AGAIN_MS);
    }
  }

  async #remains(): Promise<number[]> {
    const { path } = this.folder;
    return (await Promise.all([LAUNCH, KEEP].map((command) => withCommand([...command, path])))).flat();
  }

  async #endLauncher(): Promise<void> {
    // Signals the launcher's process group, so that the process that waits for the pipe to close ends too.
    if (this.#launcher && (await isAlive(this.#launcher))) sendSignal(-this.#launcher.pid, "SIGKILL");
    for (const pid of await this.#remains()) sendSignal(pid, "SIGKILL");
  }

  /** All processes of the program. */
  async processes(): Promise<number[]> {
    if (this.#parts.cgroups) return this.#parts.cgroups.processes(this.id);
    const below = this.#launcher ? await this.#below(this.#launcher.pid) : [];
    return this.#parts.sandboxed ? below : [...new Set([...below, ...(await withVariable(`${MARK}=${this.id}`))])];
  }

  /** The launcher has two children: one runs the program below it, the other keeps the program's output. */
  async #below(launcher: number): Promise<number[]> {
    const children = await childrenOf(launcher);
    const commands = await Promise.all(children.map(commandOf));
    const running = children.filter((_, index) => !commands[index]!.startsWith(KEEP.join(" ")));
    return (await Promise.all(running.map(descendants))).flat();
  }

  async #killRest(): Promise<void> {
    if (this.#parts.cgroups) return this.#parts.cgroups.kill(this.id);
    for (let pids = await this.processes(); pids.length > 0; pids = await this.processes()) {
      for (const pid of pids) sendSignal(pid, "SIGKILL");
      await sleep(this.#parts.clock, LOOK_AGAIN_MS);
    }
  }

  async stop(graceMs: number): Promise<void> {
    if (this.isEnded) return;
    const over = Promise.withResolvers<void>();
    const timer = this.#parts.clock.after(graceMs, over.resolve);
    let waits = true;
    const noLonger = () => {
      waits = false;
    };
    floating(Promise.race([this.whenEnded, over.promise]).then(noLonger), noLonger);
    await this.thaw();
    await this.#ask(() => waits);
    await Promise.race([this.whenEnded, over.promise]);
    timer.cancel();
    if (!this.isEnded) await this.kill();
  }

  /** Sends SIGTERM to the program, once there is a program. */
  async #ask(waits: () => boolean): Promise<void> {
    while (waits()) {
      const program = await this.#program();
      if (program !== undefined) return sendSignal(program, "SIGTERM");
      await sleep(this.#parts.clock, LOOK_AGAIN_MS);
    }
  }

  async #program(): Promise<number | undefined> {
    this.#launcher ??= await this.folder.identity();
    if (!this.#launcher) return undefined;
    const below = await this.#below(this.#launcher.pid);
    if (!this.#parts.sandboxed) return below[0];
    const found = await firstInSandbox(below);
    if (found !== undefined || !this.#parts.cgroups) return found;
    // If somebody killed what is between the launcher and the program, the program runs on and is nobody's child.
    return firstInSandbox(await this.#parts.cgroups.processes(this.id));
  }

  /** The launcher and the program, once both exist; undefined when the instance has ended. */
  async firstProcesses(): Promise<FirstProcesses | undefined> {
    while (!this.isEnded && !this.#gone) {
      const found = await this.firstProcessesNow();
      if (found) return found;
      await sleep(this.#parts.clock, LOOK_AGAIN_MS);
    }
    return undefined;
  }

  /** The same, for a caller that does not wait: undefined while one of them does not exist. */
  async firstProcessesNow(): Promise<FirstProcesses | undefined> {
    const pid = await this.#program();
    const program = pid === undefined ? undefined : await identityOf(pid);
    return program && this.#launcher && { launcher: this.#launcher, program };
  }

  /** Kills the program because of something it did, and records the reason. */
  async endFor(reason: string): Promise<void> {
    this.#verdict = reason;
    await this.kill();
  }

  /** Kills the program and waits until it has ended. */
  async kill(): Promise<void> {
    while (!this.isEnded) {
      await this.#killRest();
      await this.look();
      if (!this.isEnded) await sleep(this.#parts.clock, LOOK_AGAIN_MS);
    }
  }

  freeze(): Promise<void> {
    return this.#turn.run(async () => {
      if (this.#state !== "running") return;
      await this.#parts.cgroups!.freeze(this.id);
      this.#become("frozen");
    });
  }

  thaw(): Promise<void> {
    return this.#turn.run(async () => {
      if (this.#state !== "frozen") return;
      await this.#parts.cgroups!.thaw(this.id);
      this.#become("running");
    });
  }

  #become(state: InstanceState): void {
    if (this.isEnded) return;
    this.#state = state;
    this.#tell();
  }

  async *logs({ after, signal }: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    const { path } = this.folder;
    const { segment = Number.POSITIVE_INFINITY } = this.kept;
    await using reader = new OutputReader(path, segment, parsePosition(after));
    while (!signal.aborted && !this.#gone) {
      const wake = this.#wake.promise;
      const ended = this.isEnded;
      const { lines, lost } = await reader.read(ended);
      if (lines.length > 0 || lost > 0) yield { lines, ...(lost > 0 && { lost }), at: String(reader.offset) };
      else if (ended) return;
      else await whileThere(signal, wake);
    }
  }

  /** Kills the program without reporting its end. Resolves when no process of the instance is left. */
  async remove(): Promise<void> {
    this.#parts.changed = () => {};
    await this.kill();
    this.letGo();
    while (this.#launcher && (await isAlive(this.#launcher))) await sleep(this.#parts.clock, LOOK_AGAIN_MS);
    await this.#explained;
  }

  /** Stops following the instance, which goes on. */
  letGo(): void {
    this.#gone = true;
    this.#watcher?.close();
    this.#stir();
  }

  #tell(): void {
    this.#parts.changed(this);
  }

  #stir(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

/** The program has a number of its own in its sandbox. */
async function firstInSandbox(pids: readonly number[]): Promise<number | undefined> {
  const numbers = await Promise.all(pids.map(numbersOf));
  return pids.find((_, index) => numbers[index]!.length > 1 && numbers[index]!.at(-1) === PROGRAM_NUMBER);
}
