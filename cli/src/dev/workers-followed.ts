/** Shows the logs of an endpoint's workers as they are written, and why the endpoint's jobs wait. */
import { type Clock, sleep, timestamp } from "@millrace/platform/kernel/clock.ts";
import { floating } from "@millrace/platform/kernel/floating.ts";
import { requestPath } from "@millrace/platform/kernel/request-path.ts";
import type { AccountEvent } from "@millrace/platform/resources/events/model.ts";
import type { Worker } from "@millrace/platform/resources/workers/model.ts";
import { workerOperations } from "@millrace/platform/resources/workers/operations.ts";
import type { ApiClient } from "../api.ts";
import { type Screen, shortId } from "./screen.ts";

interface LogEvent {
  line: string;
  source: "container" | "system";
  /** Null for a line about the stream itself. */
  workerId: string | null;
}

interface Followed {
  /** The lines of a boot that is not shown, because the boots before it failed. */
  held: LogEvent[] | undefined;
}

/** Lines of a worker arrive within this time after its end. */
const LAST_LINES_MS = 500;
/** A job that waits for a shorter time than this needs no reason on the screen. */
const PATIENCE_MS = 700;
const AGAIN_MS = 1000;
const LOOK_MS = 50;
/** The platform replaces idle workers at once. A test that waits for longer than this runs anyway. */
const REPLACED_WITHIN_MS = 5000;
const HELD_LINES = 20;

export interface FollowingOptions {
  client: ApiClient;
  screen: Screen;
  clock: Clock;
  endpoint: string;
}

export class WorkersFollowed implements AsyncDisposable {
  readonly #options: FollowingOptions;
  readonly #ended = new AbortController();
  readonly #followed = new Map<string, Followed>();
  readonly #failed = new Set<string>();
  readonly #ready = Promise.withResolvers<void>();
  #failures = 0;
  #release = 0;
  #reason: string | undefined;
  #waitingSince: number | undefined;

  constructor(options: FollowingOptions) {
    this.#options = options;
    floating(this.#follow(), () => {});
    floating(this.#read(timestamp(options.clock.now())), () => {});
  }

  /** Resolves when a worker is ready for the first time. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** New code gets a fresh start: its failures are shown again. */
  reloaded(): void {
    this.#failures = 0;
    this.#reason = undefined;
  }

  async #follow(): Promise<void> {
    const { client, clock } = this.#options;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        for await (const { data } of client.events("/v2/account/events", { signal })) {
          const event = data as AccountEvent;
          const concerns = event.type === "reset" || event.endpointId === this.#options.endpoint;
          if (concerns) await this.#look();
          if (event.jobs && concerns) this.#jobs(event.jobs);
        }
      } catch {
        // The server ends, or the stream broke. It is opened again while the session lasts.
      }
      if (!signal.aborted) await sleep(clock, AGAIN_MS);
    }
  }

  /** Resolves when no worker with old code takes jobs any more, so that the next job gets the new code. */
  async replaced(): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + REPLACED_WITHIN_MS;
    while (clock.monotonic() < untilMs && !this.#ended.signal.aborted) {
      const workers = await this.#list();
      if (!workers.some(({ isStale, status }) => isStale && status === "IDLE")) return;
      await sleep(clock, LOOK_MS);
    }
  }

  async #list(): Promise<Worker[]> {
    const { client, endpoint } = this.#options;
    return (await client.call(workerOperations.listEndpointWorkers, { params: { id: endpoint } })).workers;
  }

  async #look(): Promise<void> {
    const { clock } = this.#options;
    const workers = await this.#list();
    for (const worker of workers) this.#see(worker);
    const listed = new Set(workers.map(({ id }) => id));
    for (const id of this.#followed.keys())
      if (!listed.has(id)) clock.after(LAST_LINES_MS, () => this.#followed.delete(id));
  }

  #see(worker: Worker): void {
    const { id, status, reason, isStale } = worker;
    if (status === "UNHEALTHY") this.#fail(id, reason ?? "it ended");
    else if (status === "THROTTLED") this.#tell(reason ?? "no machine has room for a worker");
    else this.#begin(id);
    if (!isStale && (status === "IDLE" || status === "RUNNING")) this.#answer(worker);
  }

  /** A worker asks for jobs: the code runs. */
  #answer({ id, version }: Worker): void {
    this.#failures = 0;
    this.#show(id);
    if (version && version > this.#release) {
      if (this.#release > 0) this.#options.screen.note(`worker ${shortId(id)} runs the new code`);
      this.#release = version;
    }
    this.#ready.resolve();
  }

  #begin(id: string): Followed {
    const followed = this.#followed.get(id) ?? { held: this.#failures > 0 ? [] : undefined };
    this.#followed.set(id, followed);
    return followed;
  }

  /** The lines of all workers come in one stream. After a break it goes on behind the last line. */
  async #read(since: string): Promise<void> {
    const { client, clock, endpoint } = this.#options;
    const { signal } = this.#ended;
    const path = requestPath(workerOperations.getEndpointLogs.path, { params: { id: endpoint }, query: { since } });
    for (let lastEventId: string | undefined; !signal.aborted; ) {
      try {
        for await (const { id, data } of client.events(path, { signal, lastEventId })) {
          lastEventId = id ?? lastEventId;
          this.#line(data as LogEvent);
        }
      } catch {
        // The server ends, or the stream broke. It is opened again while the session lasts.
      }
      if (!signal.aborted) await sleep(clock, AGAIN_MS);
    }
  }

  #line(event: LogEvent): void {
    const { workerId, line, source } = event;
    const { screen } = this.#options;
    const followed = workerId === null ? undefined : this.#begin(workerId);
    if (workerId === null) screen.note(line);
    else if (followed?.held) followed.held = [...followed.held, event].slice(-HELD_LINES);
    else screen.worker(workerId, line, source);
  }

  /** A boot that became ready after failures is worth all of its lines. */
  #show(id: string): void {
    const followed = this.#followed.get(id);
    if (!followed?.held) return;
    const held = followed.held;
    followed.held = undefined;
    for (const { line, source } of held) this.#options.screen.worker(id, line, source);
  }

  /** The first failure is shown, by its own log if it has one. The platform goes on trying, and the screen stands still. */
  #fail(id: string, reason: string): void {
    if (this.#failed.has(id)) return;
    this.#failed.add(id);
    this.#failures++;
    if (this.#failures > 1) return;
    const { screen } = this.#options;
    if (!this.#followed.has(id)) screen.trouble(`worker ${shortId(id)} failed: ${reason}`);
    screen.note("another worker is started, later after each failure; save a file to try at once");
  }

  /** Says why jobs wait, once for each reason. */
  #jobs({ inQueue }: { inQueue: number }): void {
    const { clock } = this.#options;
    if (inQueue === 0) {
      this.#waitingSince = undefined;
      this.#reason = undefined;
      return;
    }
    this.#waitingSince ??= clock.monotonic();
    clock.after(PATIENCE_MS, () => floating(this.#askWhy(), () => {}));
  }

  async #askWhy(): Promise<void> {
    if (this.#waitingSince === undefined || this.#ended.signal.aborted) return;
    const { client, endpoint } = this.#options;
    const waiting = { method: "GET", path: `/v2/${endpoint}/requests?status=IN_QUEUE&limit=1` } as const;
    const { requests } = (await client.call(waiting)) as { requests: { waitReason?: string }[] };
    const reason = requests[0]?.waitReason;
    if (reason !== undefined && this.#failures === 0) this.#tell(reason);
  }

  /** The time in a reason grows, and is not news. */
  #tell(reason: string): void {
    const plain = reason.replace(/\(\d+ m?s\)/, "");
    if (plain === this.#reason) return;
    this.#reason = plain;
    this.#options.screen.note(`jobs wait: ${reason}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
  }
}
