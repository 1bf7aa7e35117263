/** Turns a caller's request to follow a log into a query, and its lines into numbered events. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import type { ServerEvent } from "../../kernel/event-block.ts";
import type { Following } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { Static } from "../../kernel/schema.ts";
import type { From, LogLine, Query } from "../../ports/logs/logs.ts";
import { DEFAULT_TAIL, type LogEvent, type logQuery } from "./model.ts";
import { sharedBlocks } from "./readers.ts";

const SEQUENCE_DIGITS = 12;

/** The part of a log to read, from what the caller asks for. */
export function logQueryOf({ query, lastEventId }: Following & { query: Static<typeof logQuery> }): Query {
  return { from: startOf(query, lastEventId), source: query.source };
}

/** The last event seen takes precedence, then a time, then a number of lines. */
function startOf({ tail = DEFAULT_TAIL, since }: Static<typeof logQuery>, lastEventId: string | undefined): From {
  if (lastEventId !== undefined) return { after: seenLine(lastEventId) };
  return since === undefined ? { tail } : { since: parseTimestamp(since)! };
}

function seenLine(id: string): { ts: number; sequence?: number } {
  const [time = "", sequence] = id.split("/", 2);
  const ts = parseTimestamp(time);
  if (ts === undefined || (sequence !== undefined && !/^\d{1,15}$/.test(sequence))) {
    const error = "$.Last-Event-ID: must be '<time>/<sequence>' as in an event's id, or a time alone";
    throw problem("invalid", "Request validation failed.", { errors: [error] });
  }
  return sequence === undefined ? { ts } : { ts, sequence: Number(sequence) };
}

export const logEvents = sharedBlocks(eventOf);

function eventOf({ ts, sequence, source, line }: LogLine): ServerEvent<LogEvent> {
  const time = timestamp(ts);
  return { id: `${time}/${String(sequence).padStart(SEQUENCE_DIGITS, "0")}`, data: { ts: time, source, line } };
}
