/** The log of each instance: the output of its program, and lines of the platform about it. */

import type { Clock } from "../kernel/clock.ts";
import { type Failed, named } from "../kernel/failed.ts";
import { withoutPlaces } from "../kernel/places.ts";
import { adding, because, type Reason, reworded } from "../kernel/reason.ts";
import { LogPace } from "../machines/log-pace.ts";
import type { Compute, Exit } from "../ports/compute/compute.ts";
import type { Logs } from "../ports/logs/logs.ts";
import type { InstanceItem, KeptInstance } from "./instances.ts";

interface Following {
  stop: AbortController;
  over: Promise<void>;
}

/** Precedes the program's last lines in a reason. */
const LAST_LINES = ", last lines: ";
/** How long to wait for the last output of a program that has ended. A busy container engine takes seconds to deliver it. */
const LAST_WORDS_MS = 10_000;
const READ_LINES = 40;
const SHOWN_LINES = 6;
const SHOWN_OF_LINES = 600;
/** Stack frames are left out, because they would hide the error itself. */
const STACK_FRAME = /^at .+[:)]/;

export interface InstanceLogParts<T extends KeptInstance = KeptInstance> {
  compute: Compute;
  logs: Logs;
  clock: Clock;
  failed: Failed;
  /** The log stream that stores an instance's lines. */
  streamOf: (instance: InstanceItem<T>) => string;
  /** Names the boot that an instance's output belongs to, where a stream outlives its instances. Consists of words and dashes. */
  bootOf?: (instance: InstanceItem<T>) => string | undefined;
}

export class InstanceLog<T extends KeptInstance = KeptInstance> {
  readonly #compute: Compute;
  readonly #logs: Logs;
  readonly #clock: Clock;
  readonly #failed: Failed;
  readonly #following = new Map<string, Following>();
  readonly #streamOf: InstanceLogParts<T>["streamOf"];
  readonly #bootOf: InstanceLogParts<T>["bootOf"];
  readonly #pace: LogPace;

  constructor(parts: InstanceLogParts<T>) {
    this.#compute = parts.compute;
    this.#logs = parts.logs;
    this.#clock = parts.clock;
    this.#failed = parts.failed;
    this.#streamOf = parts.streamOf;
    this.#bootOf = parts.bootOf;
    this.#pace = new LogPace(parts.clock);
  }

  /** Collects the program's output from where this process or an earlier one stopped. */
  follow(instance: InstanceItem<T>): void {
    if (this.#following.has(instance.id)) return;
    const stop = new AbortController();
    const over = this.#collect(instance, stop.signal).catch(named(this.#failed, "collect what programs write"));
    this.#following.set(instance.id, { stop, over });
  }

  /** Adds a line of the platform itself. */
  say(instance: InstanceItem<T>, line: string): void {
    this.#logs.append(this.#streamOf(instance), [
      { source: "system", ts: this.#clock.now(), line: withoutPlaces(line) },
    ]);
  }

  /** The program has ended. Resolves once all of its lines are stored. */
  async ended({ id }: InstanceItem<T>): Promise<void> {
    const following = this.#following.get(id);
    if (!following) return;
    const timer = this.#clock.after(LAST_WORDS_MS, () => following.stop.abort());
    await following.over;
    timer.cancel();
    this.#following.delete(id);
  }

  /** Adds the program's last lines to how it ended. */
  async ending(instance: InstanceItem<T>, how: Reason): Promise<Reason> {
    const last = await this.#logs.read(this.#streamOf(instance), { from: { tail: READ_LINES }, source: "container" });
    const lines = last.map(({ line }) => line.trim()).filter((line) => line !== "" && !STACK_FRAME.test(line));
    const text = lines.slice(-SHOWN_LINES);
    return text.length === 0
      ? reworded(how, (said) => `${said}, it wrote nothing`)
      : adding(how, `${LAST_LINES}${text.join(" | ").slice(-SHOWN_OF_LINES)}`);
  }

  /** Removes all lines about the instance, because its owner is gone. */
  async remove(instance: InstanceItem<T>): Promise<void> {
    await this.#logs.remove(this.#streamOf(instance));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stop } of this.#following.values()) stop.abort();
    await Promise.all([...this.#following.values()].map(({ over }) => over));
  }

  async #collect(instance: InstanceItem<T>, signal: AbortSignal): Promise<void> {
    const stream = this.#streamOf(instance);
    const boot = this.#bootOf?.(instance);
    const after = positionIn(await this.#logs.position(stream), boot);
    const pace = this.#pace.ofOne();
    for await (const { lines, lost, at } of this.#compute.logs(instance.id, { after, signal })) {
      const ts = this.#clock.now();
      const said = lines.map((line) => ({ source: "container" as const, ts, line }));
      this.#logs.append(
        stream,
        lost === undefined ? said : [{ source: "system", ts, line: lossOf(lost) }, ...said],
        boot === undefined ? at : `${boot}${OF_BOOT}${at}`,
      );
      await pace(lines, signal);
    }
  }
}

const OF_BOOT = "@";

/** Returns where to continue reading the output of this boot. If another boot wrote last, that is the beginning. */
function positionIn(position: string | undefined, boot: string | undefined): string | undefined {
  if (boot === undefined) return position;
  return position?.startsWith(`${boot}${OF_BOOT}`) ? position.slice(boot.length + OF_BOOT.length) : undefined;
}

const lossOf = (bytes: number) =>
  `${bytes} bytes of output were dropped: they came faster than they could be read, and only so much is kept`;

export const exitReason = (exit: Exit): Reason => because(exit.cause ?? "program-ended", { how: exitText(exit) });

export function exitText({ code, signal, reason }: Exit): string {
  const how = code === null ? `ended by ${signal ?? "a signal"}` : `exit ${code}`;
  return reason === undefined ? how : `${how} (${reason})`;
}
