/** Turns a caller's request to follow a log into a query, and its lines into numbered events. */
import { parseTimestamp, timestamp } from "../../kernel/clock.ts";
import { EventBlock, type ServerEvent } from "../../kernel/event-block.ts";
import type { Following } from "../../kernel/operation.ts";
import { problem } from "../../kernel/problem.ts";
import type { Static } from "../../kernel/schema.ts";
import type { From, LogLine, Query } from "../../ports/logs/logs.ts";
import type { EndpointLogQuery, SeenLines, WorkerLines } from "../workers/endpoint-log.ts";
import { DEFAULT_TAIL, type EndpointLogEvent, type LogEvent, type logQuery } from "./model.ts";
import { sharedBlocks } from "./readers.ts";

const SEQUENCE_DIGITS = 12;
/** An id names the last line of this many workers, so that it fits into a header. */
const MOST_POSITIONS = 100;
const POSITION = /^[\w-]{1,100}\.\d{1,15}$/;

type Asked = Static<typeof logQuery>;

/** The part of a log to read, from what the caller asks for. */
export function logQueryOf({ query, lastEventId }: Following & { query: Asked }): Query {
  const from = lastEventId === undefined ? startOf(query) : { after: seenLine(lastEventId) };
  return { from, ...restOf(query) };
}

/** The same for the logs of all workers of an endpoint. */
export function endpointLogQueryOf({ query, lastEventId }: Following & { query: Asked }): EndpointLogQuery {
  const from = lastEventId === undefined ? startOf(query) : { seen: seenLines(lastEventId) };
  return { from, ...restOf(query) };
}

const restOf = ({ source, follow }: Asked) => ({
  ...(source && { source }),
  ...(follow === false && { endsNow: true }),
});

/** A time takes precedence over a number of lines. */
function startOf({ tail = DEFAULT_TAIL, since }: Asked): Exclude<From, { after: unknown }> {
  return since === undefined ? { tail } : { since: parseTimestamp(since)! };
}

function seenLine(id: string): { ts: number; sequence?: number } {
  const [time = "", sequence] = id.split("/", 2);
  const ts = parseTimestamp(time);
  if (ts === undefined || (sequence !== undefined && !/^\d{1,15}$/.test(sequence))) {
    throw wrongId("<time>/<sequence>");
  }
  return sequence === undefined ? { ts } : { ts, sequence: Number(sequence) };
}

function seenLines(id: string): SeenLines {
  const [time = "", positions = ""] = id.split("/", 2);
  const ts = parseTimestamp(time);
  const all = positions === "" ? [] : positions.split(",");
  if (ts === undefined || all.length > MOST_POSITIONS || !all.every((position) => POSITION.test(position)))
    throw wrongId("<time>/<worker>.<sequence>,…");
  const sequences = all
    .map((position) => position.split("."))
    .map(([worker, sequence]) => [worker!, Number(sequence)] as const);
  return { ts, sequences: new Map(sequences) };
}

function wrongId(form: string) {
  const error = `$.Last-Event-ID: must be '${form}' as in an event's id, or a time alone`;
  return problem("invalid", "Request validation failed.", { errors: [error] });
}

export const logEvents = sharedBlocks(eventOf);

function eventOf(line: LogLine): ServerEvent<LogEvent> {
  const data = shown(line);
  return { id: `${data.ts}/${String(line.sequence).padStart(SEQUENCE_DIGITS, "0")}`, data };
}

/** Makes the events of one reader. The last of each block has an id, which names the last line of each worker that wrote lately. */
export function endpointLogEvents({ from }: EndpointLogQuery): (lines: WorkerLines) => EventBlock<EndpointLogEvent> {
  const positions = new Map("seen" in from ? from.seen.sequences : []);
  let newest = "seen" in from ? from.seen.ts : 0;
  return ({ worker, lines }) => {
    const last = lines.at(-1)!;
    if (worker !== undefined && last.sequence > 0) {
      newest = Math.max(newest, last.ts);
      // Set anew, the worker comes last, and the one that has been quiet for longest is dropped.
      positions.delete(worker);
      positions.set(worker, last.sequence);
      if (positions.size > MOST_POSITIONS) positions.delete(positions.keys().next().value!);
    }
    const id = `${timestamp(newest)}/${[...positions].map((position) => position.join(".")).join(",")}`;
    return new EventBlock(
      lines.map((line) => ({ id: line === last ? id : "", data: { workerId: worker ?? null, ...shown(line) } })),
    );
  };
}

const shown = ({ ts, source, line }: LogLine): LogEvent => ({ ts: timestamp(ts), source, line });
