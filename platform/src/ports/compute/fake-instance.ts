/** One instance of the fake driver: a program that a test plays. */
import { type Duplex, duplexPair } from "node:stream";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { whileThere } from "../../kernel/wait.ts";
import { type Exit, type Gpu, type Instance, type InstanceSpec, LONGEST_LINE, type Output } from "./compute.ts";
import type { ExecSpec } from "./execution.ts";
import { FakeExecution } from "./fake-execution.ts";
import type { Published } from "./publish.ts";
import { ExecRefused } from "./refusal.ts";
import type { GpuStats, Stats } from "./stats.ts";
import type { DiskWriter } from "./writers.ts";

/** What the instance was given on the machine. */
export interface FakePlace {
  gpus?: readonly Gpu[];
  address?: string | undefined;
  published?: readonly Published[];
  /** The boot before this one. This boot continues its disk and its log. */
  before?: FakeInstance | undefined;
}

export class FakeInstance {
  readonly id: string;
  readonly spec: InstanceSpec;
  readonly gpus: readonly Gpu[];
  readonly devices: readonly string[];
  /** Its address in its group. */
  readonly address: string | undefined;
  /** The ports of the machine that lead to it. */
  readonly published: readonly Published[];
  /** The files that the program keeps on its own disk, by path. */
  readonly disk: Map<string, string>;
  readonly whenExited: Promise<void>;
  /** Called at every change of its state. The driver sets this. */
  changed: () => void = () => {};
  /** What it uses, if a test says so. */
  uses: Omit<Partial<Stats>, "at"> = {};
  /** What executions in it do. By default their program does not exist (code 127). */
  onExec: (program: FakeExecution) => void = (program) => program.end({ code: 127 });
  /** What the program does when it is asked to end. */
  onAsk: () => void = () => this.exit({ code: 0 });

  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #listening = new Map<number, (connection: Duplex) => void>();
  readonly #timers = new Set<Timer>();
  readonly #connections = new Set<Duplex>();
  readonly #executions = new Set<FakeExecution>();
  #frozen: (() => void)[] | undefined;
  #exit: Exit | undefined;
  #text = "";
  #gone = false;
  #wake = Promise.withResolvers<void>();
  #exited: () => void;

  constructor(id: string, spec: InstanceSpec, clock: Clock, place: FakePlace = {}) {
    const { gpus = [], address, published = [], before } = place;
    this.disk = before?.disk ?? new Map();
    this.#text = before ? before.#text : "";
    this.published = published;
    this.gpus = gpus;
    this.devices = gpus.map((gpu) => gpu.id);
    this.id = id;
    this.address = address;
    this.spec = spec;
    this.#clock = clock;
    this.#startedAt = clock.now();
    const exited = Promise.withResolvers<void>();
    this.whenExited = exited.promise;
    this.#exited = exited.resolve;
  }

  get exited(): boolean {
    return this.#exit !== undefined;
  }

  view(): Instance {
    const { kind, owner } = this.spec;
    const state = this.#exit ? "exited" : this.#frozen ? "frozen" : "running";
    const about = { id: this.id, kind, owner, state, startedAt: this.#startedAt } as const;
    const { devices, address, published } = this;
    const place = { ...(address !== undefined && { address }), ...(published.length > 0 && { published }) };
    return { ...about, ...(devices.length > 0 && { devices }), ...(this.#exit ? { exit: this.#exit } : place) };
  }

  /** Writes these texts as the program. Lines end only where the texts contain line ends. */
  write(...texts: string[]): void {
    this.#text += texts.join("");
    this.#stir();
  }

  /** From now on the program accepts connections to this port. */
  listen(port: number, connected: (connection: Duplex) => void): void {
    this.#listening.set(port, connected);
  }

  isListening(port: number): boolean {
    return !this.exited && this.#listening.has(port);
  }

  /** Makes the program act later: never after it has ended, and only after the thaw if it is frozen then. */
  after(delayMs: number, act: () => void): void {
    const timer = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer);
      this.#act(act);
    });
    this.#timers.add(timer);
  }

  /** A worker without mounts is left out, since its disk is in memory. Files on a volume are not counted here. */
  asWriter(): DiskWriter[] {
    const { kind, mounts = [] } = this.spec;
    if (kind === "worker" && mounts.length === 0) return [];
    return [{ id: this.id, bytes: [...this.disk.values()].reduce((sum, text) => sum + text.length, 0) }];
  }

  endFor(reason: string): void {
    if (this.#exit) return;
    this.exit({ signal: "SIGKILL", reason, cause: "filled-disk", isFinal: true });
    this.disk.clear();
  }

  exit({ code = null, ...more }: Partial<Omit<Exit, "at">>): void {
    if (this.#exit) return;
    this.#exit = { code, ...more, at: this.#clock.now() };
    this.#frozen = undefined;
    for (const timer of this.#timers) timer.cancel();
    for (const connection of this.#connections) connection.destroy();
    for (const execution of this.#executions) execution.end({ signal: "SIGKILL" });
    this.#exited();
    this.#stir();
    this.changed();
  }

  /** Releases everything without telling anyone. */
  end(): void {
    this.changed = () => {};
    this.exit({ signal: "SIGKILL" });
    this.#gone = true;
    this.#stir();
  }

  ask(): void {
    this.#act(this.onAsk);
  }

  freeze(): void {
    if (this.#exit || this.#frozen) return;
    this.#frozen = [];
    this.changed();
  }

  thaw(): void {
    const waiting = this.#frozen;
    if (!waiting) return;
    this.#frozen = undefined;
    this.changed();
    for (const act of waiting) act();
  }

  dial(port: number): Duplex {
    if (!this.spec.ports.includes(port)) throw new Error(`port ${port} is not one of ${this.id}`);
    return this.connect(port);
  }

  /** Connects to any port that the program listens on. */
  connect(port: number): Duplex {
    const connected = this.#listening.get(port);
    if (!connected || this.#exit) throw new Error(`nobody listens on port ${port} of ${this.id}`);
    const [near, far] = duplexPair();
    this.#connections.add(far);
    far.on("close", () => {
      this.#connections.delete(far);
      near.destroy();
    });
    // If both sides had finished, data that was sent before must still arrive.
    near.on("close", () => {
      if (!near.readableEnded || !near.writableFinished) far.destroy();
    });
    this.#act(() => connected(far));
    return near;
  }

  stats(gpus: readonly GpuStats[]): Stats {
    const memoryLimitBytes = this.spec.limits.memoryMb * 1_048_576;
    return { at: this.#clock.now(), memoryLimitBytes, gpus, ...this.uses };
  }

  exec(spec: ExecSpec): FakeExecution {
    const { state } = this.view();
    if (state === "frozen") throw new ExecRefused(`instance ${this.id} is frozen: thaw it first`);
    if (state === "exited") throw new ExecRefused(`instance ${this.id} has ended`);
    const execution = new FakeExecution(spec, { ...this.spec.env, ...spec.env }, this.#clock);
    this.#executions.add(execution);
    floating(
      execution.exit.then(() => this.#executions.delete(execution)),
      () => {},
    );
    this.onExec(execution);
    return execution;
  }

  async *logs({ after = "0", signal }: { after?: string; signal: AbortSignal }): AsyncIterable<Output> {
    let at = Number(after);
    while (!signal.aborted && !this.#gone) {
      const wake = this.#wake.promise;
      const read = this.#linesFrom(at);
      at = read.to;
      if (read.lines.length > 0) yield { lines: read.lines, at: String(at) };
      else if (this.#exit) return;
      else await whileThere(signal, wake);
    }
  }

  #linesFrom(from: number): { lines: string[]; to: number } {
    const text = this.#text.slice(from);
    const whole = this.#exit ? text : text.slice(0, text.lastIndexOf("\n") + 1);
    const lines = whole.replace(/\n$/, "").split("\n").flatMap(cut);
    return whole === "" ? { lines: [], to: from } : { lines, to: from + whole.length };
  }

  #act(act: () => void): void {
    if (this.#exit) return;
    if (this.#frozen) this.#frozen.push(act);
    else act();
  }

  #stir(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

/** A character takes at most four bytes in UTF-8, so a piece of this length never exceeds the longest line. */
const LONGEST_PIECE = LONGEST_LINE / 4;

function cut(line: string): string[] {
  const characters = [...line];
  if (characters.length <= LONGEST_PIECE) return [line];
  const pieces: string[] = [];
  for (let at = 0; at < characters.length; at += LONGEST_PIECE)
    pieces.push(characters.slice(at, at + LONGEST_PIECE).join(""));
  return pieces;
}
