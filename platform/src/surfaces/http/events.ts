/** Answers with server-sent events, written as fast as the client reads, and ended when the client has gone. */
import type { Clock, Timer } from "../../kernel/clock.ts";
import type { EventBlock } from "../../kernel/event-block.ts";
import type { Gone } from "../../kernel/gone.ts";
import { writeHead } from "./head.ts";
import type { Reply } from "./reply.ts";

/** Shorter than the idle time after which proxies between client and server close a connection. */
export const KEEP_ALIVE_MS = 15_000;

export const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache",
  "x-accel-buffering": "no",
};

/** Waits for a slow reader, so that what it has not read yet stays in storage and not in memory. */
export function drained(raw: Reply["raw"], gone: Gone): Promise<void> {
  if (!raw.writableNeedDrain || gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const go = () => {
      raw.off("drain", go);
      gone.removeEventListener("abort", go);
      resolve();
    };
    raw.once("drain", go);
    gone.addEventListener("abort", go);
  });
}

export class EventStream {
  readonly #blocks: AsyncIterable<EventBlock>;
  readonly #gone: Gone;
  readonly #clock: Clock;
  readonly #isHead: boolean;

  constructor(blocks: AsyncIterable<EventBlock>, parts: { gone: Gone; clock: Clock; isHead: boolean }) {
    this.#blocks = blocks;
    this.#gone = parts.gone;
    this.#clock = parts.clock;
    this.#isHead = parts.isHead;
  }

  async send(reply: Reply): Promise<Reply> {
    const { raw } = reply;
    writeHead(raw, 200, { ...reply.headers, ...eventHeaders });
    raw.flushHeaders();
    if (!this.#isHead) await this.#write(raw);
    raw.end();
    return reply;
  }

  async #write(raw: Reply["raw"]): Promise<void> {
    let quiet: Timer | undefined;
    const keepAlive = () => {
      quiet?.cancel();
      quiet = this.#clock.after(KEEP_ALIVE_MS, () => {
        if (!raw.writableNeedDrain) raw.write(": waiting\n\n");
        keepAlive();
      });
    };
    keepAlive();
    try {
      for await (const { bytes } of this.#blocks) {
        if (this.#gone.aborted) break;
        raw.write(bytes);
        keepAlive();
        await drained(raw, this.#gone);
      }
    } finally {
      quiet?.cancel();
    }
  }
}
