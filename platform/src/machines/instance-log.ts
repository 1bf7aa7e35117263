/** The log of each instance: what its program writes, and what the platform says about it. */

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

/** What the words of a program begin with in a reason. */
const LAST_LINES = ", last lines: ";
/** How long the last words of a program that has ended are waited for: an engine that has much to do takes seconds to give them out. */
const LAST_WORDS_MS = 10_000;
const READ_LINES = 40;
const SHOWN_LINES = 6;
const SHOWN_OF_LINES = 600;
/** Where an error came from, line after line, would hide what it was. */
const STACK_FRAME = /^at .+[:)]/;

export interface InstanceLogParts<T extends KeptInstance = KeptInstance> {
  compute: Compute;
  logs: Logs;
  clock: Clock;
  failed: Failed;
  /** The stream that the lines of an instance are kept in. */
  streamOf: (instance: InstanceItem<T>) => string;
  /** Where a stream outlives what writes to it: what tells the output of one boot from that of the next, of words and dashes. */
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

  /** Takes up what the program wrote and goes on to write, from where it was left, in this process or one before. */
  follow(instance: InstanceItem<T>): void {
    if (this.#following.has(instance.id)) return;
    const stop = new AbortController();
    const over = this.#collect(instance, stop.signal).catch(named(this.#failed, "collect what programs write"));
    this.#following.set(instance.id, { stop, over });
  }

  /** A line of the platform's own. */
  say(instance: InstanceItem<T>, line: string): void {
    this.#logs.append(this.#streamOf(instance), [
      { source: "system", ts: this.#clock.now(), line: withoutPlaces(line) },
    ]);
  }

  /** The program has ended: resolves once all of its lines are kept. */
  async ended({ id }: InstanceItem<T>): Promise<void> {
    const following = this.#following.get(id);
    if (!following) return;
    const timer = this.#clock.after(LAST_WORDS_MS, () => following.stop.abort());
    await following.over;
    timer.cancel();
    this.#following.delete(id);
  }

  /** How the program ended, with its last lines. */
  async ending(instance: InstanceItem<T>, how: Reason): Promise<Reason> {
    const last = await this.#logs.read(this.#streamOf(instance), { from: { tail: READ_LINES }, source: "container" });
    const lines = last.map(({ line }) => line.trim()).filter((line) => line !== "" && !STACK_FRAME.test(line));
    const text = lines.slice(-SHOWN_LINES);
    return text.length === 0
      ? reworded(how, (said) => `${said}, it wrote nothing`)
      : adding(how, `${LAST_LINES}${text.join(" | ").slice(-SHOWN_OF_LINES)}`);
  }

  /** Its owner is gone, and with it all that was ever said about its instances. */
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

/** Where reading goes on in what this boot writes: at its beginning, when another one wrote last. */
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
