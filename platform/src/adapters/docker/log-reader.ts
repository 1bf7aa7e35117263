/** Reads a container's log through the engine. When the engine was away, reading continues where it stopped. */
import type { IncomingMessage } from "node:http";
import { type Clock, parseTimestamp } from "../../kernel/clock.ts";
import { pause } from "../../kernel/wait.ts";
import type { Output } from "../../ports/compute/compute.ts";
import { DOCKER_PIECE_BYTES, LogLines, type Message } from "../machine/log-lines.ts";
import { type Container, isOf } from "./container.ts";
import type { FoundEngine } from "./engine.ts";
import { EngineRefused, isConflict, isNotFound } from "./engine-api.ts";

/** How soon to ask again when the engine is away, or has ended an answer although the container still runs. */
const RETRY_MS = 200;

export interface Reading {
  /** The container's name. */
  name: string;
  /** The installation that the container must belong to. */
  installation: string;
  after?: string;
  signal: AbortSignal;
  clock: Clock;
}

export async function* readLog(
  { api, podman }: FoundEngine,
  { name, installation, after, signal, clock }: Reading,
): AsyncIterable<Output> {
  let at = after;
  // The engine's own id once it is known: by the time the engine is back, the name may belong to another container.
  let container = name;
  while (!signal.aborted) {
    try {
      const lines = new LogLines(at, podman ? undefined : DOCKER_PIECE_BYTES);
      const stream = (follow: boolean) =>
        api.stream("GET", `/containers/${container}/logs`, {
          query: { follow, stdout: true, stderr: true, timestamps: true, since: lines.since },
          signal,
        });
      // A program that has just started most likely still runs, so the first log is not waited for.
      const early = container === name ? stream(true) : undefined;
      early?.catch(() => {});
      const found = await api.call<Container>("GET", `/containers/${container}/json`, { signal });
      if (!isOf(installation, found)) return void (await early)?.destroy();
      container = found.Id;
      // Asked before reading: once a program has ended, its log is complete. The early log was asked for before that.
      const isOver = !found.State.Running && !early;
      const response = await (early ?? stream(!isOver));
      for await (const messages of messagesIn(response)) {
        const given = messages.flatMap((message) => lines.take(message));
        at = lines.at;
        if (given.length > 0) yield { lines: given, at };
      }
      const rest = isOver ? lines.rest() : [];
      if (rest.length > 0) yield { lines: rest, at: lines.at };
      if (isOver) return;
    } catch (error) {
      // A conflict means that the container is being removed.
      if (signal.aborted || isNotFound(error) || isConflict(error)) return;
      if (error instanceof EngineRefused) throw error;
      await pause(clock, RETRY_MS, signal);
    }
  }
}

/** A channel byte, three empty bytes and the length. */
const HEADER_BYTES = 8;

/** The messages in each chunk that arrives. */
async function* messagesIn(response: IncomingMessage): AsyncIterable<Message[]> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of response) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    const messages: Message[] = [];
    for (let end = messageEnd(bytes); end <= bytes.length; end = messageEnd(bytes)) {
      messages.push(readMessage(bytes[0]!, bytes.subarray(HEADER_BYTES, end)));
      bytes = bytes.subarray(end);
    }
    yield messages;
  }
}

const messageEnd = (bytes: Buffer) => (bytes.length < HEADER_BYTES ? Infinity : HEADER_BYTES + bytes.readUInt32BE(4));

function readMessage(channel: number, content: Buffer): Message {
  const space = content.indexOf(" ");
  return { channel, time: nanoseconds(String(content.subarray(0, space))), bytes: content.subarray(space + 1) };
}

/** Converts `2026-01-01T00:00:00.000000001Z` to `1767225600.000000001`, the form that the engine accepts. */
export function nanoseconds(timestamp: string): string {
  const fraction = /\.(\d+)/.exec(timestamp)?.[1] ?? "";
  const seconds = Math.floor(parseTimestamp(timestamp)! / 1_000);
  return `${seconds}.${fraction.padEnd(9, "0")}`;
}
