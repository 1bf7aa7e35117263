/** Log streams of workers and Pods, as callers see them. */
import { dateTime, nullable, oneOf, type Static, t } from "../../kernel/schema.ts";

export const LogEvent = t.Object(
  {
    ts: dateTime("When the line was written."),
    source: oneOf(["container", "system"], {
      description: "`container`: what the program wrote. `system`: what the platform says about it.",
    }),
    line: t.String({ description: "The line, without its line break." }),
  },
  { $id: "LogEvent" },
);
export type LogEvent = Static<typeof LogEvent>;

export const EndpointLogEvent = t.Object(
  {
    ...LogEvent.properties,
    workerId: nullable(t.String({ description: "The worker that the line is of; null if it is about the stream." })),
  },
  { $id: "EndpointLogEvent" },
);
export type EndpointLogEvent = Static<typeof EndpointLogEvent>;

export const DEFAULT_TAIL = 100;

export const logQuery = t.Object({
  source: t.Optional(oneOf(["container", "system"], { description: "Only lines of this source; both by default." })),
  tail: t.Optional(
    t.Integer({
      minimum: 0,
      maximum: 5000,
      default: DEFAULT_TAIL,
      description: "How many of the last lines come first; 0 for none. Not heeded beside `since` or `Last-Event-ID`.",
    }),
  ),
  since: t.Optional(dateTime("Lines of this time and later come first. Not heeded beside `Last-Event-ID`.")),
  follow: t.Optional(
    t.Boolean({
      default: true,
      description: "Whether new lines follow. If false, the stream ends after the kept lines.",
    }),
  ),
});

/** Part of the description of every operation that follows a log. */
export const logDescription =
  "Lines that are kept come first, then every line as it is written, until the client hangs up. Each event has an id, " +
  "`<time>/<sequence>`: send it back as `Last-Event-ID` to continue after that line. A time works too. A reader who is slow skips lines, and a `system` line " +
  "says how many. An account follows only so many logs at once; one more is answered with 429.";
