/** Opens the recording of traces, if the operator named a collector. */
import type { Clock } from "../kernel/clock.ts";
import type { Instruments } from "../kernel/instruments.ts";
import type { Log } from "../kernel/log.ts";
import type { Random } from "../kernel/random.ts";
import { Tracing } from "../kernel/tracing.ts";
import type { Settings } from "../settings/settings.ts";

export interface OpenTraces extends AsyncDisposable {
  tracing: Tracing;
}

export async function openTraces(
  { tracesUrl: url, tracesHeaders: headers, traceShare: share }: Settings,
  parts: { clock: Clock; random: Random; log: Log; instruments: Instruments; node: string; version: string },
): Promise<OpenTraces | undefined> {
  if (url === undefined) return undefined;
  const { OtlpSink } = await import("../adapters/otlp/otlp-sink.ts");
  const resource = { "service.name": "millrace", "service.version": parts.version, "service.instance.id": parts.node };
  const sink = new OtlpSink({ ...parts, url, headers, resource, counts: parts.instruments.spans });
  const tracing = new Tracing({ ...parts, sink, share });
  return { tracing, [Symbol.asyncDispose]: () => sink[Symbol.asyncDispose]() };
}
