/** Claimed jobs as their worker gets them. One whose input is lost or cannot be opened fails at once: no other worker could read it either. */
import type { WorkerCall, WorkerDesk } from "../../jobs/worker-desk.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { because } from "../../kernel/reason.ts";
import type { Job, Payload } from "../../ports/queue/job.ts";
import type { Claimed, Queue } from "../../ports/queue/queue.ts";
import type { Vault } from "../../ports/vault/vault.ts";
import type { LargeJson } from "../invoke/large-json.ts";
import { type JobText, jobText, type Loaded, openedText } from "./job-text.ts";

/** A job as its worker gets it. */
export interface Handed {
  job: Job;
  text: JobText;
}

interface Parts {
  desk: Pick<WorkerDesk, "fail">;
  queue: Pick<Queue, "read">;
  vault: Vault;
  large: LargeJson;
  clock: Clock;
  log: Log;
}

/** If all can be handed out as they are, nothing is awaited: a promise for each of a thousand jobs would cost more than their texts. */
export function handOut(
  parts: Parts,
  call: WorkerCall,
  claimed: readonly Claimed[],
  withAttempt: boolean,
): Handed[] | Promise<Handed[]> {
  if (claimed.every(isReady)) return claimed.map((one) => plain(one, withAttempt));
  return handOutEach(parts, call, claimed, withAttempt);
}

async function handOutEach(
  parts: Parts,
  call: WorkerCall,
  claimed: readonly Claimed[],
  withAttempt: boolean,
): Promise<Handed[]> {
  const handed = await Promise.all(
    claimed.map((one) => (isReady(one) ? plain(one, withAttempt) : made(parts, call, one, withAttempt))),
  );
  return handed.filter((one) => one !== undefined);
}

const isReady = (one: Claimed): one is Loaded => one.body !== undefined && !one.job.sealed;

const plain = (one: Loaded, withAttempt: boolean): Handed => ({ job: one.job, text: jobText(one, withAttempt) });

async function made(
  parts: Parts,
  call: WorkerCall,
  { job, body: claimedBody }: Claimed,
  withAttempt: boolean,
): Promise<Handed | undefined> {
  const { desk, log } = parts;
  const body = claimedBody ?? (await readAgain(parts, job));
  if (body === undefined) {
    log.error({ job: job.id, endpoint: job.endpoint }, "a job's input is lost");
    await desk.fail(call, job, because("input-lost"));
    return undefined;
  }
  if (!job.sealed) return plain({ job, body }, withAttempt);
  try {
    return { job, text: await openedText({ job, body }, parts, withAttempt) };
  } catch (error) {
    log.error({ err: error, job: job.id }, "a job's credential cannot be opened");
    await desk.fail(call, job, because("credential-lost", {}, (error as Error).message));
    return undefined;
  }
}

/** A body that was sealed anew after its job was claimed stands in another file. */
async function readAgain({ queue, clock }: Parts, { id }: Job): Promise<Payload | undefined> {
  const reading = await queue.read(id, clock.now(), ["body"]);
  return typeof reading === "object" ? reading.body : undefined;
}
