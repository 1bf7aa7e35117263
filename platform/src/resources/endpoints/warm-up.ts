/** Checks what an endpoint may have as the warm-up of its workers. */
import { problem } from "../../kernel/problem.ts";
import type { KeptEndpoint } from "./model.ts";

const MOST_OF_WARM_UP = 64 * 1024;

/** Its size is bounded, because it is part of the endpoint's record, which is read often and kept in memory. */
export function refuseWarmUp({ type, workers: { warmup } }: KeptEndpoint): void {
  if (!warmup) return;
  if (type !== "QUEUE")
    throw problem("rule-broken", "'workers.warmup' is for QUEUE endpoints: this one is asked for its health instead.");
  const bytes = Buffer.byteLength(JSON.stringify(warmup.input));
  if (bytes > MOST_OF_WARM_UP)
    throw problem("rule-broken", `'workers.warmup.input' has ${bytes} bytes of JSON; at most ${MOST_OF_WARM_UP}.`);
}
