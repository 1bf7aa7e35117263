/** Follows what a job streams, without taking it from the job's own reader. */
import { useEffect, useState } from "react";
import { addressOf } from "../../api/client.ts";
import { follow } from "../../api/follow.ts";
import { cache, keyOf } from "../../api/queries.ts";

export interface Streamed {
  chunks: readonly unknown[];
  /** How many came in all; only the last ones are kept. */
  count: number;
}

const MOST_CHUNKS = 2000;
const NONE: Streamed = { chunks: [], count: 0 };

/** Empty until the job streams something, and again when a new attempt begins. */
export function useStream(endpointId: string, jobId: string | undefined): Streamed {
  const [streamed, setStreamed] = useState(NONE);
  useEffect(() => {
    setStreamed(NONE);
    if (jobId === undefined) return;
    const stop = new AbortController();
    const params = { endpoint_id: endpointId, job_id: jobId };
    void follow(addressOf("streamJob", { params, query: { format: "events" } }), {
      signal: stop.signal,
      endsWithServer: true,
      onEvent: (data, event) => {
        if (event === "reset") setStreamed(NONE);
        else if (event === "end") {
          // The record at its end is the newest there is.
          cache.setQueryData(keyOf("getJob", { params }), data);
          void cache.invalidateQueries({ queryKey: keyOf("getJobDetails") });
          stop.abort();
        } else {
          const { output } = data as { output: unknown };
          setStreamed(({ chunks, count }) => ({ chunks: [...chunks, output].slice(-MOST_CHUNKS), count: count + 1 }));
        }
      },
    });
    return () => stop.abort();
  }, [endpointId, jobId]);
  return streamed;
}

/** Pieces of text are read as one; other chunks stand one to a line. */
export function streamText(chunks: readonly unknown[]): string {
  if (chunks.every((chunk) => typeof chunk === "string")) return chunks.join("");
  return chunks.map((chunk) => (typeof chunk === "string" ? chunk : JSON.stringify(chunk))).join("\n");
}
