/** Traces of requests and jobs: which are recorded, and what their spans say. Without somebody who takes spans, nothing is recorded. */
import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";
import { readTraceparent, runSpanId, type TraceContext, traceparentText } from "./traceparent.ts";

/** The numbers are those of OTLP. */
const spanKinds = { internal: 1, server: 2, client: 3, consumer: 5 } as const;

export interface Span {
  name: string;
  kind: (typeof spanKinds)[keyof typeof spanKinds];
  traceId: string;
  spanId: string;
  parentId: string | undefined;
  /** Milliseconds since the Unix epoch. */
  from: number;
  to: number;
  attributes: Readonly<Record<string, string | number | undefined>>;
  /** Why it failed, or undefined if it did not. */
  error?: string | undefined;
}

/** Takes spans. It never throws and never waits. */
export interface SpanSink {
  add(span: Span): void;
}

/** A request that is being traced. */
export interface TracedRequest {
  /** What the parts of the request say is before them. */
  readonly traceparent: string;
  end(about: { name: string; attributes: Span["attributes"]; error?: string | undefined }): void;
}

/** What is known of a job that ended. */
export interface TracedJob {
  id: string;
  endpoint: string;
  state: string;
  attempt: number;
  trace?: string;
  holder?: string;
  queuedAt: number;
  startedAt?: number;
  endedAt?: number;
  reason?: string;
  error?: string;
}

export interface TracingParts {
  sink: SpanSink;
  clock: Clock;
  random: Random;
  /** The share of traces that is recorded, of those that begin here. Whoever began a trace elsewhere decided for it. */
  share: number;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const UINT32 = 2 ** 32;
const isChosen = (random: Random, share: number) =>
  share >= 1 || (share > 0 && Buffer.from(random.bytes(4)).readUInt32BE() / UINT32 < share);
const FAILED: readonly string[] = ["FAILED", "TIMED_OUT"];
const LONGEST_ERROR = 200;

export class Tracing {
  readonly #parts: TracingParts;

  constructor(parts: TracingParts) {
    this.#parts = parts;
  }

  /** Begins the span of a request, or returns undefined if its trace is not recorded. */
  begin(header: unknown): TracedRequest | undefined {
    const { random, clock, share, sink } = this.#parts;
    const parent = readTraceparent(header);
    const isSampled = parent ? parent.isSampled : isChosen(random, share);
    if (!isSampled) return undefined;
    const context: TraceContext = {
      traceId: parent?.traceId ?? hex(random.bytes(16)),
      spanId: hex(random.bytes(8)),
      isSampled,
    };
    const from = clock.now();
    const { traceId, spanId } = context;
    return {
      traceparent: traceparentText(context),
      end: (about) =>
        sink.add({
          ...about,
          kind: spanKinds.server,
          traceId,
          spanId,
          parentId: parent?.spanId,
          from,
          to: clock.now(),
        }),
    };
  }

  /** Adds the spans of a job: its wait, and the run of its last attempt. */
  jobEnded(job: TracedJob): void {
    const context = readTraceparent(job.trace);
    if (!context?.isSampled) return;
    const { traceId, spanId: parentId } = context;
    const { id, endpoint, attempt, state, queuedAt, startedAt, holder } = job;
    const to = job.endedAt ?? this.#parts.clock.now();
    const attributes = { "millrace.job.id": id, "millrace.endpoint.id": endpoint, "millrace.job.state": state };
    const error = FAILED.includes(state) ? (job.error ?? job.reason ?? state).slice(0, LONGEST_ERROR) : undefined;
    const { sink } = this.#parts;
    // The wait of one attempt ends where its run begins, so it needs no name that others know.
    const waitId = runSpanId(`${id} wait`, attempt);
    const waited = { traceId, parentId, from: queuedAt, to: startedAt ?? to, attributes };
    sink.add({
      ...waited,
      name: "wait for a worker",
      kind: spanKinds.internal,
      spanId: waitId,
      ...(startedAt === undefined && { error }),
    });
    if (startedAt === undefined) return;
    const ofRun = { ...attributes, "millrace.job.attempt": attempt, "millrace.worker": holder };
    const spanId = runSpanId(id, attempt);
    sink.add({
      traceId,
      parentId,
      spanId,
      name: "run job",
      kind: spanKinds.consumer,
      from: startedAt,
      to,
      attributes: ofRun,
      error,
    });
  }

  /** Adds the span of a message about a job's end. */
  told(
    { trace, id, attempt, endpoint }: TracedJob,
    message: { target: string; from: number; status: number | undefined; error: string | undefined },
  ): void {
    const context = readTraceparent(trace);
    if (!context?.isSampled) return;
    const { random, clock, sink } = this.#parts;
    const attributes = {
      "millrace.job.id": id,
      "millrace.endpoint.id": endpoint,
      "server.address": message.target,
      "http.response.status_code": message.status,
    };
    const error = message.error ?? (message.status === 200 ? undefined : `status ${message.status}`);
    sink.add({
      ...{ name: "send webhook", kind: spanKinds.client, traceId: context.traceId, spanId: hex(random.bytes(8)) },
      ...{ parentId: runSpanId(id, attempt), from: message.from, to: clock.now(), attributes, error },
    });
  }
}
