/** Limits of invocation, off by default: how often and how many at once a user may call an endpoint, and how long its queue may grow. */
import type { Caller } from "../kernel/caller.ts";
import type { Clock } from "../kernel/clock.ts";
import { problem } from "../kernel/problem.ts";
import { Remembered } from "../kernel/remembered.ts";
import { type Counter, judge } from "../ports/limits/limits.ts";
import { type InvokePolicy, type LimitedOperation, STANDARD } from "./invoke-policy.ts";

const WINDOW_S = 10;

/** Paths that count as another operation. */
const TOGETHER: Record<string, LimitedOperation> = {
  "status-sync": "status",
  stream: "status",
  output: "status",
  "requests/{job_id}": "status",
  metrics: "health",
};
const SHOWN: Partial<Record<LimitedOperation, string>> = {
  status: "status, status-sync, stream and output",
  health: "health and metrics",
};
const SUBMITTING: ReadonlySet<LimitedOperation> = new Set(["run", "runsync", "openai"]);

/** Each running worker adds a twentieth of a limit, so the limit rises from the 21st worker on. */
const WORKERS_WITHIN = 20;
/** A queue that is longer than both of these is full. */
const FULL = { least: 50, perWorker: 500, retryAfterS: 5 };
const FACTS_MS = 1000;
const SWEEP_AT = 10_000;

/** The operation that a path counts as: `/v2/{endpoint_id}/status-sync/{job_id}` counts as status. */
export function limitedAs(path: string): LimitedOperation {
  const [word = "", rest] = path.split("/").slice(3);
  const operation = TOGETHER[`${word}/${rest}`] ?? TOGETHER[word] ?? word;
  if (!Object.hasOwn(STANDARD, operation)) throw new Error(`'${path}' has no limit in the table of invocation`);
  return operation as LimitedOperation;
}

/** The numbers on which an endpoint's limits depend, at most a second old. */
interface Facts {
  inQueue: number;
  /** Workers that are alive. */
  workers: number;
}

interface Line {
  counters: Counter[];
  running: number;
}

export interface InvokeLimiterParts {
  policy: InvokePolicy;
  clock: Clock;
  facts: (endpoint: string) => Promise<Facts>;
}

/** Counts in this process. Each of several nodes allows the full limit, so that no request has to ask a database. */
export class InvokeLimiter {
  readonly #parts: InvokeLimiterParts;
  readonly #facts: Remembered<Promise<Facts>>;
  readonly #lines = new Map<string, Line>();
  #sweepAt = SWEEP_AT;

  constructor(parts: InvokeLimiterParts) {
    this.#parts = parts;
    this.#facts = new Remembered(parts.clock, FACTS_MS);
  }

  /** Does the work within the limits, or refuses it. A refused request is not counted. */
  async within<T>(
    caller: Caller,
    endpoint: { id: string; workersMax: number },
    operation: LimitedOperation,
    work: () => Promise<T>,
  ): Promise<T> {
    if (caller.exempt) return work();
    const facts = await this.#factsOf(endpoint.id);
    if (SUBMITTING.has(operation)) refuseWhenFull(facts, endpoint.workersMax);
    const line = this.#enter(`${endpoint.id} ${caller.user} ${operation}`, operation, facts.workers);
    try {
      return await work();
    } finally {
      line.running--;
    }
  }

  #enter(name: string, operation: LimitedOperation, workers: number): Line {
    const line = this.#lineOf(name);
    const { rate, atOnce } = this.#parts.policy[operation];
    const most = raised(atOnce ?? Number.POSITIVE_INFINITY, workers);
    if (line.running >= most) throw tooManyAtOnce(operation, most);
    const quota = raised(rate, workers);
    const window = [{ name: operation, quota, seconds: WINDOW_S }];
    const { verdict, counters } = judge(window, line.counters, this.#parts.clock.monotonic());
    line.counters = counters;
    if (!verdict.allowed) throw tooOften(operation, quota, verdict.windows[0]!.resetMs);
    line.running++;
    return line;
  }

  #lineOf(name: string): Line {
    let line = this.#lines.get(name);
    if (!line) {
      if (this.#lines.size >= this.#sweepAt) this.#sweep();
      line = { counters: [], running: 0 };
      this.#lines.set(name, line);
    }
    return line;
  }

  #sweep(): void {
    const over = this.#parts.clock.monotonic() - WINDOW_S * 1000;
    for (const [name, { counters, running }] of this.#lines) {
      if (running === 0 && counters.every(({ startedAt }) => startedAt <= over)) this.#lines.delete(name);
    }
    // The remaining lines are in use. Sweeping again for each new one would cost more and more.
    this.#sweepAt = Math.max(SWEEP_AT, this.#lines.size * 2);
  }

  /** Callers that ask at the same moment share one answer. */
  #factsOf(endpoint: string): Promise<Facts> {
    const remembered = this.#facts.get(endpoint);
    if (remembered) return remembered;
    const asked = this.#parts.facts(endpoint);
    this.#facts.set(endpoint, asked);
    asked.catch(() => this.#facts.delete(endpoint));
    return asked;
  }
}

const raised = (limit: number, workers: number) => Math.max(limit, Math.floor((limit * workers) / WORKERS_WITHIN));

function tooOften(operation: LimitedOperation, quota: number, resetMs: number) {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  const why = `rate limit exceeded: ${shown(operation)} may be asked ${quota} times in ${WINDOW_S} seconds on this endpoint`;
  return problem("too-much", `${why}; try again in ${seconds} s`, { retryAfterS: seconds, reason: "rate-limited" });
}

function tooManyAtOnce(operation: LimitedOperation, most: number) {
  const why = `too many requests at once: ${shown(operation)} may be asked ${most} times at once on this endpoint`;
  return problem("too-much", why, { retryAfterS: 1, reason: "too-many-at-once" });
}

function refuseWhenFull({ inQueue }: Facts, workersMax: number): void {
  const most = Math.max(FULL.least, workersMax * FULL.perWorker);
  if (inQueue <= most) return;
  const rule = `the more of ${FULL.least} and ${FULL.perWorker} for each of its at most ${workersMax} workers`;
  throw problem(
    "too-much",
    `queue is full: ${inQueue} jobs wait, and this endpoint takes no more beyond ${most} (${rule})`,
    {
      retryAfterS: FULL.retryAfterS,
      reason: "queue-full",
    },
  );
}

const shown = (operation: LimitedOperation) => SHOWN[operation] ?? operation;
