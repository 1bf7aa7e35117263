/** A copy of some objects of the cluster that follows every change: it lists, watches, resumes, and lists again when it must. */
import type { Clock } from "../../kernel/clock.ts";
import { pause } from "../../kernel/wait.ts";
import { isGone, type KubeApi, KubeRefused } from "./kube-api.ts";
import type { KubeList, KubeObject, Meta } from "./kube-objects.ts";

/** One line of a watch. */
export interface WatchLine<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T;
}

export type Heard<T> = (object: T, isDeleted: boolean) => void;

const PAGE = 500;
/** The server ends a watch after this long, so a broken one does not stay for ever. */
const WATCH_S = 280;
/** The server sends something at least every minute, be it a bookmark. */
const SILENT_MS = 150_000;
const RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;
const LONGEST_LINE = 16 * 1_048_576;

/** What is known of the objects, apart from how it is heard. */
export class Copy<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #heard: Heard<T>;

  constructor(heard: Heard<T>) {
    this.#heard = heard;
  }

  get(name: string): T | undefined {
    return this.#objects.get(name);
  }

  all(): T[] {
    return [...this.#objects.values()];
  }

  /** Takes an object as it was listed, heard of or answered. An older state than the known one is dropped. */
  take(object: T): void {
    const known = this.#objects.get(keyOf(object.metadata));
    if (known && known.metadata.uid === object.metadata.uid && !isNewer(object.metadata, known.metadata)) return;
    this.#objects.set(keyOf(object.metadata), object);
    this.#heard(object, false);
  }

  /** Forgets a deleted object, unless another one has its name by now. */
  drop(object: T): void {
    const known = this.#objects.get(keyOf(object.metadata));
    if (!known || known.metadata.uid !== object.metadata.uid) return;
    this.#objects.delete(keyOf(object.metadata));
    this.#heard(object, true);
  }

  /** Takes a complete list. What is missing in it was deleted while nobody listened. */
  takeAll(objects: readonly T[], asOf: string): void {
    const there = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const known of this.all())
      if (!there.has(known.metadata.uid) && !isNewer(known.metadata, { ...known.metadata, resourceVersion: asOf }))
        this.drop(known);
    for (const object of objects) this.take(object);
  }
}

const keyOf = ({ name }: Meta) => name;

const isNewer = (one: Meta, other: Meta) => BigInt(one.resourceVersion ?? 0) > BigInt(other.resourceVersion ?? 0);

export interface FollowParts<T> {
  api: KubeApi;
  clock: Clock;
  path: string;
  query?: Record<string, string>;
  heard: Heard<T>;
  failed: (error: unknown) => void;
}

export class Followed<T extends KubeObject> implements AsyncDisposable {
  readonly copy: Copy<T>;
  readonly #parts: FollowParts<T>;
  readonly #over = new AbortController();
  readonly #following: Promise<void>;
  #listed = unheard();
  #hasListed = false;
  #version = "";

  constructor(parts: FollowParts<T>) {
    this.#parts = parts;
    this.copy = new Copy(parts.heard);
    this.#following = this.#follow();
  }

  /** Resolves once everything was listed for the first time. Rejects when the present attempt fails; it goes on trying. */
  get ready(): Promise<void> {
    return this.#listed.promise;
  }

  async #follow(): Promise<void> {
    const { clock, failed } = this.#parts;
    const { signal } = this.#over;
    for (let retryMs = RETRY_MS; !signal.aborted; ) {
      try {
        if (this.#version === "") await this.#list();
        const beganMs = clock.monotonic();
        await this.#watch();
        // A proxy between may end every watch at once.
        if (clock.monotonic() - beganMs < RETRY_MS) await pause(clock, RETRY_MS, signal);
        retryMs = RETRY_MS;
      } catch (error) {
        if (signal.aborted) return;
        if (isGone(error)) {
          this.#version = "";
          // The list that follows may be too old for a watch as well.
          await pause(clock, RETRY_MS, signal);
        } else {
          this.#listed.reject(error);
          if (!this.#hasListed) this.#listed = unheard();
          failed(error);
          await pause(clock, retryMs, signal);
          retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
        }
      }
    }
  }

  async #list(): Promise<void> {
    const { api, path, query } = this.#parts;
    const { signal } = this.#over;
    const objects: T[] = [];
    let page: KubeList<T> | undefined;
    do {
      const next = page?.metadata.continue;
      page = await api.call<KubeList<T>>("GET", path, {
        query: { ...query, limit: PAGE, ...(next !== undefined && { continue: next }) },
        signal,
      });
      objects.push(...page.items);
    } while (page.metadata.continue);
    this.#version = page.metadata.resourceVersion;
    this.copy.takeAll(objects, this.#version);
    this.#hasListed = true;
    this.#listed.resolve();
  }

  async #watch(): Promise<void> {
    const { api, clock, path, query } = this.#parts;
    const ended = new AbortController();
    const signal = AbortSignal.any([this.#over.signal, ended.signal]);
    let timer = clock.after(SILENT_MS, () => ended.abort());
    try {
      const response = await api.stream(path, {
        query: {
          ...query,
          watch: true,
          allowWatchBookmarks: true,
          resourceVersion: this.#version,
          timeoutSeconds: WATCH_S,
        },
        signal,
      });
      for await (const line of linesIn(response)) {
        timer.cancel();
        timer = clock.after(SILENT_MS, () => ended.abort());
        this.#take(JSON.parse(line) as WatchLine<T>);
      }
    } catch (error) {
      // The connection was silent or broke: the watch goes on where it was.
      if (error instanceof KubeRefused) throw error;
      if (!signal.aborted) await pause(clock, RETRY_MS, this.#over.signal);
    } finally {
      timer.cancel();
    }
  }

  #take({ type, object }: WatchLine<T>): void {
    if (type === "ERROR") {
      const { code = 500, reason = "", message = "" } = object as { code?: number; reason?: string; message?: string };
      throw new KubeRefused(code, reason, message);
    }
    if (type === "DELETED") this.copy.drop(object);
    else if (type !== "BOOKMARK") this.copy.take(object);
    this.#version = object.metadata.resourceVersion ?? this.#version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#following;
  }
}

/** Nobody need wait for it. */
function unheard(): PromiseWithResolvers<void> {
  const made = Promise.withResolvers<void>();
  made.promise.catch(() => {});
  return made;
}

async function* linesIn(chunks: AsyncIterable<Buffer>): AsyncIterable<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (rest.length > LONGEST_LINE) throw new Error("a line of a watch is too long");
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      if (end > 0) yield String(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
  }
}
