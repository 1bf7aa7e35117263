/** Follows a stream of server-sent events by `fetch`, which can carry the headers of a session, and heals it when it breaks. */
import { createParser } from "eventsource-parser";
import { send } from "./client.ts";
import { parseExact } from "./exact-json.ts";
import { paused } from "./rate-pause.ts";
import { Refusal } from "./refusal.ts";

export interface Connection {
  isOpen: boolean;
  /** When it was lost. */
  since: number | undefined;
  /** Why it cannot be opened, where the server said so. */
  refusal?: Refusal;
}

interface Follower {
  signal: AbortSignal;
  onEvent: (data: unknown, event: string | undefined) => void;
  onConnection?: (connection: Connection) => void;
  /** Whether a stream that the server ended in order is over, as a log is; otherwise it is opened again. */
  endsWithServer?: boolean;
  /** The id of an event behind which the stream begins, and where the id of each event is told, to begin there the next time. */
  after?: string | undefined;
  onId?: (id: string) => void;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;
/** The server says something every 15 s at least. After this long the connection is dead, though nobody closed it. */
const SILENCE_MS = 40_000;

/** Resolves when `signal` aborts, when the stream is over, or when the server refuses it for good. */
export async function follow(address: string, follower: Follower): Promise<void> {
  const { signal, onConnection, endsWithServer, onId, after } = follower;
  let lastId = after;
  let lostAt: number | undefined;
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (lastId !== undefined) headers["Last-Event-ID"] = lastId;
      const answer = await send(address, { method: "GET", headers, signal });
      onConnection?.({ isOpen: true, since: undefined });
      lostAt = undefined;
      pause = FIRST_PAUSE_MS;
      await readEvents(answer.body!, follower, (id) => {
        lastId = id;
        onId?.(id);
      });
      if (endsWithServer) return;
    } catch (error) {
      if (signal.aborted) return;
      lostAt ??= Date.now();
      const refusal = error instanceof Refusal && error.status > 0 ? error : undefined;
      onConnection?.({ isOpen: false, since: lostAt, ...(refusal && { refusal }) });
      if (refusal && refusal.status < 500 && refusal.status !== 429) return;
    }
    lostAt ??= Date.now();
    if (!signal.aborted) onConnection?.({ isOpen: false, since: lostAt });
    await paused(pause, signal);
  }
}

async function readEvents(
  body: ReadableStream<Uint8Array>,
  { onEvent }: Follower,
  keepId: (id: string) => void,
): Promise<void> {
  const parser = createParser({
    onEvent: ({ id, event, data }) => {
      if (id !== undefined) keepId(id);
      onEvent(parseExact(data), event);
    },
  });
  const words = new TextDecoder();
  const reader = body.getReader();
  let isLost = false;
  const lose = () => {
    isLost = true;
    reader.cancel().catch(() => undefined);
  };
  // A browser that knows that it has no network tells, and leaves streams open all the same.
  globalThis.addEventListener?.("offline", lose);
  let silence = setTimeout(lose, SILENCE_MS);
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      clearTimeout(silence);
      silence = setTimeout(lose, SILENCE_MS);
      parser.feed(words.decode(read.value, { stream: true }));
    }
  } finally {
    clearTimeout(silence);
    globalThis.removeEventListener?.("offline", lose);
  }
  if (isLost) throw new Error("nothing came over the connection");
}
