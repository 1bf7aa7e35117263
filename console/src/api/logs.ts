/** Follows one or several logs at once into one bounded list of lines, while the page is looked at. */
import type { EndpointLogEvent, LogEvent } from "@millrace/platform/resources/logs/model.ts";
import { useEffect, useMemo, useState } from "react";
import { type Kept, LogLines } from "../design/log-lines.ts";
import { type Connection, follow } from "./follow.ts";

export interface LogStream {
  /** The name of the source, such as a worker's id. Empty where a stream has lines of many, which name their own. */
  from: string;
  /** Of the log operation, with its query. */
  address: string;
}

/** Often enough to look alive, and seldom enough that a flood of lines costs little. */
const FLUSH_MS = 100;

interface Followed {
  stop: AbortController;
  lastId?: string;
}

interface Reading extends Kept {
  connection: Connection | undefined;
  clear: () => void;
}

export function useLogs(streams: readonly LogStream[], until?: number): Reading {
  const [connection, setConnection] = useState<Connection>();
  const log = useMemo(() => new LogLines(), []);
  const [kept, setKept] = useState(log.kept);
  const followed = useMemo(() => new Map<string, Followed>(), []);
  const [isShown, setShown] = useState(!document.hidden);
  useEffect(() => {
    const look = () => setShown(!document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  useEffect(() => {
    const timer = setInterval(() => log.flush() && setKept(log.kept), FLUSH_MS);
    return () => clearInterval(timer);
  }, [log]);
  useEffect(() => {
    const wanted = new Map(isShown ? streams.map((stream) => [stream.address, stream]) : []);
    const alone = new Set(streams.map((stream) => stream.from));
    for (const [address, { stop }] of followed) if (!wanted.has(address)) stop.abort();
    for (const { address, from } of wanted.values()) {
      const before = followed.get(address);
      if (before && !before.stop.signal.aborted) continue;
      const own: Followed = { ...before, stop: new AbortController() };
      followed.set(address, own);
      void follow(address, {
        signal: own.stop.signal,
        after: own.lastId,
        onId: (id) => {
          own.lastId = id;
        },
        onEvent: (data) => {
          const { ts, source, line, ...rest } = data as LogEvent & Partial<EndpointLogEvent>;
          const at = Date.parse(ts);
          // A worker that is followed by itself may be in the stream of all workers too.
          if (from === "" && rest.workerId && alone.has(rest.workerId)) return;
          if (until !== undefined && at > until) return own.stop.abort();
          log.add({ at, from: rest.workerId ?? from, isSystem: source === "system", raw: line });
        },
        onConnection: setConnection,
      });
    }
  }, [streams, isShown, followed, log, until]);
  useEffect(
    () => () => {
      for (const { stop } of followed.values()) stop.abort();
    },
    [followed],
  );
  return {
    ...kept,
    connection,
    clear: () => {
      log.clear();
      setKept(log.kept);
    },
  };
}
