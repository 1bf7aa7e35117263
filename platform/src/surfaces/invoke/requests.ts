/** `/requests`: the jobs of an endpoint, newest first, with filters and pages. */

import { PAGE_LIMIT, PAGE_OFFSET } from "../../jobs/model.ts";
import { jobRecord, type Shown } from "../../jobs/record.ts";
import type { Clock } from "../../kernel/clock.ts";
import { timestamp } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { type Job, type JobState, jobLifecycle } from "../../ports/queue/job.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import { searchOf } from "../http/pipeline.ts";
import type { Request } from "../http/reply.ts";

export interface RequestsParts {
  queue: Queue;
  clock: Clock;
  explained: (shown: Shown) => Promise<Shown>;
}

export async function listRequests({ queue, clock, explained }: RequestsParts, endpoint: string, request: Request) {
  const search = searchOf(request);
  const limit = numberOf(search, "limit", PAGE_LIMIT);
  const offset = numberOf(search, "offset", PAGE_OFFSET);
  const { jobs, total } = await queue.list({ endpoint, states: statesOf(search), offset, limit, now: clock.now() });
  const requests = await Promise.all(jobs.map(async (job) => shownRequest(await explained({ job }))));
  return { requests, total, offset, limit, hasMore: offset + jobs.length < total };
}

/** The record without its output, and with what a list is read for: its times, and what can be done with it now. */
function shownRequest(shown: Shown): Record<string, unknown> {
  const record = JSON.parse(Buffer.from(jobRecord(shown)).toString()) as Record<string, unknown>;
  return { ...record, ...timesOf(shown.job), actions: jobLifecycle.actions(shown.job.state) };
}

function timesOf({ createdAt, startedAt, endedAt }: Job): Record<string, string> {
  return {
    createdAt: timestamp(createdAt),
    ...(startedAt === undefined ? {} : { startedAt: timestamp(startedAt) }),
    ...(endedAt === undefined ? {} : { completedAt: timestamp(endedAt) }),
  };
}

/** `status=FAILED,TIMED_OUT`, in any case of letters. */
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
