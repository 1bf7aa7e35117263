/** `/requests` lists the jobs of an endpoint, newest first, with filters and pages, and shows what was asked of one. */

import type { Engine } from "../../jobs/engine.ts";
import { holderName } from "../../jobs/holder.ts";
import { PAGE_LIMIT, PAGE_OFFSET } from "../../jobs/model.ts";
import { endOf, jobRecord, type Shown } from "../../jobs/record.ts";
import type { Clock } from "../../kernel/clock.ts";
import { timestamp } from "../../kernel/clock.ts";
import { JsonText } from "../../kernel/json-text.ts";
import { problem } from "../../kernel/problem.ts";
import { type Job, type JobState, jobLifecycle } from "../../ports/queue/job.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import { searchOf } from "../http/pipeline.ts";
import { countedIn } from "../http/request-memory.ts";
import type { LargeJson } from "./large-json.ts";
import type { Asked } from "./route.ts";

export interface RequestsParts {
  queue: Queue;
  clock: Clock;
  explained: (shown: Shown) => Promise<Shown>;
}

export async function listRequests({ queue, clock, explained }: RequestsParts, asked: Asked) {
  const { caller, endpoint, guest, request } = asked;
  const search = searchOf(request);
  const limit = numberOf(search, "limit", PAGE_LIMIT);
  const offset = numberOf(search, "offset", PAGE_OFFSET);
  const worker = search.get("worker");
  const { jobs, total } = await queue.list({
    ...{ endpoint: endpoint.id, states: statesOf(search), offset, limit, now: clock.now() },
    ...(worker && !guest && { holder: holderName(endpoint.id, worker) }),
    ...(guest && { caller: caller.account }),
  });
  const requests = await Promise.all(jobs.map(async (job) => shownRequest(await explained({ job }))));
  return { requests, total, offset, limit, hasMore: offset + jobs.length < total };
}

/** Shows a job in the list: its record without the output, with its times and the actions that are possible now. */
function shownRequest(shown: Shown): Record<string, unknown> {
  const record = JSON.parse(Buffer.from(jobRecord(shown)).toString()) as Record<string, unknown>;
  const { caller, state } = shown.job;
  return { ...record, ...timesOf(shown.job), ...(caller && { caller }), actions: jobLifecycle.actions(state) };
}

function timesOf({ createdAt, startedAt, endedAt }: Job): Record<string, string> {
  return {
    createdAt: timestamp(createdAt),
    ...(startedAt === undefined ? {} : { startedAt: timestamp(startedAt) }),
    ...(endedAt === undefined ? {} : { completedAt: timestamp(endedAt) }),
  };
}

export interface DetailsParts extends Pick<RequestsParts, "explained"> {
  engine: Pick<Engine, "read">;
  large: Pick<LargeJson, "input">;
}

/** Shows a job with its input. The input is passed on as it was sent; the rest of the body may hold credentials. */
export async function jobDetails({ engine, large, explained }: DetailsParts, asked: Asked): Promise<JsonText> {
  const { endpoint, job: id, memory } = asked;
  const { job, body } = await engine.read(endpoint.id, id, ["body"], countedIn(memory).admit);
  const own = JSON.stringify({ ...shownRequest(await explained({ job })), ...historyOf(job) });
  const sent = Buffer.from(body!);
  const [start, end] = await large.input(sent, endpoint.id);
  return new JsonText(
    Buffer.concat([Buffer.from(`${own.slice(0, -1)},"input":`), sent.subarray(start, end), Buffer.from("}")]),
  );
}

function historyOf(job: Job) {
  const { state, queuedAt, attempt, ttlAt, expiresAt, policy, webhooks } = job;
  const reason = endOf(job);
  const isFinal = jobLifecycle.isFinal(state);
  return {
    queuedAt: timestamp(queuedAt),
    attempts: attempt,
    ...(!isFinal && reason !== undefined && { lastLoss: reason }),
    ...(!isFinal && { endsBy: timestamp(ttlAt) }),
    ...(expiresAt !== undefined && { keptUntil: timestamp(expiresAt) }),
    policy: {
      executionTimeout: policy.executionTimeoutMs,
      ttl: policy.ttlMs,
      retries: policy.errorRetries,
      lowPriority: policy.lowPriority,
    },
    ...(webhooks !== undefined && { webhooks }),
  };
}

/** Reads `status=FAILED,TIMED_OUT`, in upper or lower case. */
function statesOf(search: URLSearchParams): JobState[] | undefined {
  const text = search.get("status");
  if (text === null || text === "") return undefined;
  return text.split(",").map((name) => {
    const state = jobLifecycle.states.find((known) => known === name.trim().toUpperCase());
    if (!state) throw problem("invalid", `'status' must be a list of ${jobLifecycle.states.join(", ")}`);
    return state;
  });
}

export function numberOf(search: URLSearchParams, name: string, { least, most, standard }: typeof PAGE_LIMIT): number {
  const text = search.get(name);
  if (text === null) return standard;
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most))
    throw problem("invalid", `'${name}' must be an integer from ${least} to ${most}`);
  return value;
}
