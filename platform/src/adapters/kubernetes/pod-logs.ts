/** Reads what the program of a Pod wrote. When the node or the API server was away, reading continues where it stopped. */
import { type Clock, parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { pause } from "../../kernel/wait.ts";
import type { Output } from "../../ports/compute/compute.ts";
import { LogLines, type Message } from "../machine/log-lines.ts";
import { isNotFound, type KubeApi, KubeRefused } from "./kube-api.ts";
import { MAIN, type Pod } from "./kube-objects.ts";
import { mainOf } from "./pod-state.ts";

const RETRY_MS = 300;
/** A time has this many characters at most, such as `2026-01-01T00:00:00.000000001+00:00`. */
const LONGEST_TIME = 40;
/** An endless line is passed on in pieces of this size. */
const PIECE_BYTES = 65_536;
/** How often the log of an ended program is asked for before it counts as lost with its node. */
const MOST_REFUSALS = 10;

export interface LogParts {
  api: KubeApi;
  clock: Clock;
  /** The Pod as it is now; undefined once it is gone. */
  pod: () => Pod | undefined;
  /** Resolves when something about the Pod has changed. */
  changed: (signal: AbortSignal) => Promise<void>;
  after?: string | undefined;
  signal: AbortSignal;
}

export async function* readLog({ api, clock, pod, changed, after, signal }: LogParts): AsyncIterable<Output> {
  const uid = pod()?.metadata.uid;
  let at = after;
  let refusals = 0;
  while (!signal.aborted) {
    const now = pod();
    if (!now || now.metadata.uid !== uid) return;
    const { running, terminated } = mainOf(now)?.state ?? {};
    if (!running && !terminated) {
      if (now.status?.phase === "Failed") return;
      await changed(signal);
      continue;
    }
    try {
      // Asked before reading: once a program has ended, its log is complete.
      const lines = new LogLines(at);
      const { namespace, name } = now.metadata;
      const response = await api.stream(`/api/v1/namespaces/${namespace}/pods/${name}/log`, {
        query: { container: MAIN, follow: !terminated, timestamps: true, sinceTime: since(lines.since) },
        signal,
      });
      for await (const messages of messagesIn(response)) {
        const fresh = messages.filter(({ time }) => lines.since === undefined || time >= lines.since);
        const given = fresh.flatMap((message) => lines.take(message));
        at = lines.at;
        if (given.length > 0) yield { lines: given, at };
      }
      const rest = terminated ? lines.rest() : [];
      if (rest.length > 0) yield { lines: rest, at: lines.at };
      if (terminated) return;
      // The node ended the answer. The program has ended, and that is known in a moment; or the node's log was changed.
      await Promise.race([changed(signal), pause(clock, RETRY_MS, signal)]);
    } catch (error) {
      if (signal.aborted || isNotFound(error)) return;
      if (error instanceof KubeRefused && terminated && ++refusals >= MOST_REFUSALS) return;
      await pause(clock, RETRY_MS, signal);
    }
  }
}

/** The API takes whole seconds only. What was read within that second is skipped by the position. */
function since(time: string | undefined): string | undefined {
  return time === undefined
    ? undefined
    : timestamp(Math.floor(Number(time.split(".")[0]) * 1_000)).replace(/\.\d+Z$/, "Z");
}

/** Each line begins with its time. A line without one is no output, but the node's words about a log that it does not have. */
export async function* messagesIn(chunks: AsyncIterable<Buffer>): AsyncIterable<Message[]> {
  let rest: Buffer = Buffer.alloc(0);
  /** The time of the line that is being read. */
  let time: string | undefined;
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    while (rest.length > 0) {
      if (time === undefined) {
        const space = rest.indexOf(32);
        if (space < 0 && rest.length < LONGEST_TIME) break;
        time = nanoseconds(String(rest.subarray(0, Math.max(0, space)))) ?? "";
        if (time !== "") rest = rest.subarray(space + 1);
      }
      const end = rest.indexOf(10);
      if (end < 0 && rest.length < PIECE_BYTES) break;
      const bytes = end < 0 ? rest : rest.subarray(0, end + 1);
      if (time !== "") messages.push({ channel: 1, time, bytes });
      rest = rest.subarray(bytes.length);
      if (end >= 0) time = undefined;
    }
    yield messages;
  }
  if (rest.length > 0 && time) yield [{ channel: 1, time, bytes: rest }];
}

function nanoseconds(text: string): string | undefined {
  const epochMs = parseTimestamp(text);
  if (epochMs === undefined) return undefined;
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  return `${Math.floor(epochMs / 1_000)}.${fraction.padEnd(9, "0")}`;
}
