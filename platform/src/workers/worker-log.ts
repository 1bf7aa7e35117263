/** The log of each worker: what its program writes, and what the platform says about it. */
import type { Clock } from "../kernel/clock.ts";
import type { Compute, Exit } from "../ports/compute/compute.ts";
import type { Logs } from "../ports/logs/logs.ts";
import { workerLog } from "../resources/workers/model.ts";
import { LogPace } from "./log-pace.ts";
import type { WorkerItem } from "./plan.ts";

interface Following {
  stop: AbortController;
  over: Promise<void>;
}

/** What the words of a program begin with in a reason. */
const LAST_LINES = ", last lines: ";
/** How long the last words of a program that has ended are waited for. */
const LAST_WORDS_MS = 1000;
const READ_LINES = 40;
const SHOWN_LINES = 6;
const SHOWN_OF_LINES = 600;
/** Where an error came from, line after line, would hide what it was. */
const STACK_FRAME = /^at .+[:)]/;

export class WorkerLog {
  readonly #compute: Compute;
  readonly #logs: Logs;
  readonly #clock: Clock;
  readonly #failed: (error: unknown) => void;
  readonly #following = new Map<string, Following>();
  readonly #pace: LogPace;

  constructor(parts: { compute: Compute; logs: Logs; clock: Clock; failed: (error: unknown) => void }) {
    this.#compute = parts.compute;
    this.#logs = parts.logs;
    this.#clock = parts.clock;
    this.#failed = parts.failed;
    this.#pace = new LogPace(parts.clock);
  }

  /** Takes up what the program wrote and goes on to write, from where it was left, in this process or one before. */
  follow(worker: WorkerItem): void {
    if (this.#following.has(worker.id)) return;
    const stop = new AbortController();
    const over = this.#collect(worker, stop.signal).catch(this.#failed);
    this.#following.set(worker.id, { stop, over });
  }

  /** A line of the platform's own. */
  say(worker: WorkerItem, line: string): void {
    this.#logs.append(streamOf(worker), [{ source: "system", ts: this.#clock.now(), line }]);
  }

  /** The program has ended: resolves once all of its lines are kept. */
  async ended({ id }: WorkerItem): Promise<void> {
    const following = this.#following.get(id);
    if (!following) return;
    const timer = this.#clock.after(LAST_WORDS_MS, () => following.stop.abort());
    await following.over;
    timer.cancel();
    this.#following.delete(id);
  }

  /** How the program ended, with its last lines, for people. */
  async ending(worker: WorkerItem, how: string): Promise<string> {
    const last = await this.#logs.read(streamOf(worker), { from: { tail: READ_LINES }, source: "container" });
    const lines = last.map(({ line }) => line.trim()).filter((line) => line !== "" && !STACK_FRAME.test(line));
    const text = lines.slice(-SHOWN_LINES);
    return text.length === 0
      ? `${how}, it wrote nothing`
      : `${how}${LAST_LINES}${text.join(" | ").slice(-SHOWN_OF_LINES)}`;
  }

  /** Its endpoint is gone, and with it all that was ever said about its workers. */
  async remove(worker: WorkerItem): Promise<void> {
    await this.#logs.remove(streamOf(worker));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { stop } of this.#following.values()) stop.abort();
    await Promise.all([...this.#following.values()].map(({ over }) => over));
  }

  async #collect(worker: WorkerItem, signal: AbortSignal): Promise<void> {
    const stream = streamOf(worker);
    const after = await this.#logs.position(stream);
    const pace = this.#pace.ofOne();
    for await (const { lines, lost, at } of this.#compute.logs(worker.id, { after, signal })) {
      const ts = this.#clock.now();
      const said = lines.map((line) => ({ source: "container" as const, ts, line }));
      this.#logs.append(
        stream,
        lost === undefined ? said : [{ source: "system", ts, line: lossOf(lost) }, ...said],
        at,
      );
      await pace(lines, signal);
    }
  }
}

const lossOf = (bytes: number) =>
  `${bytes} bytes of output were dropped: they came faster than they could be read, and only so much is kept`;

/** After these comes what the program said. */
const ITS_WORDS = [LAST_LINES, "warm-up failed: ", "not fit to work: "];

/** A reason for the server's own log. What a program says is its account's, and may hold its secrets. */
export function withoutItsWords(reason: string): string {
  const [words] = ITS_WORDS.filter((start) => reason.includes(start));
  if (words === undefined) return reason;
  return `${reason.slice(0, reason.indexOf(words))}${words === LAST_LINES ? "" : words.replace(/: $/, "")}`;
}

const streamOf = ({ id, doc }: WorkerItem) => workerLog(doc.owner, id);

export function exitText({ code, signal, reason }: Exit): string {
  const how = code === null ? `ended by ${signal ?? "a signal"}` : `exit ${code}`;
  return reason === undefined ? how : `${how} (${reason})`;
}
