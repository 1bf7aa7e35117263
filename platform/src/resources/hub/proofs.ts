/** Runs the tests of deployments, one after another, and keeps how they went. Every step can be repeated, also by another node. */
import type { Duplex } from "node:stream";
import type { Engine } from "../../jobs/engine.ts";
import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import { type Job, jobLifecycle, type Payload } from "../../ports/queue/job.ts";
import type { Queue } from "../../ports/queue/queue.ts";
import type { Item } from "../../ports/store/collection.ts";
import type { EndpointItem, EndpointService } from "../endpoints/service.ts";
import type { PodRecords } from "../pods/records.ts";
import { hubTestLifecycle, type KeptCase, type KeptDeployment } from "./model.ts";
import { askPod } from "./pod-request.ts";
import type { HubRecords } from "./records.ts";
import { mismatch } from "./tests-file.ts";

export type DeploymentItem = Item<KeptDeployment>;

/** A run waits for the answers of Pods, one after another. */
const TESTING = { name: "test deployments of the hub", everyMs: 2000, longestMs: 3_600_000 };
/** A test job that nobody took by then has failed. */
const LONGEST_WAIT_MS = 1_800_000;
/** A Pod that does not run by then has failed its test. */
const POD_STARTS_MS = 900_000;
/** The program of a running Pod may take this long until it answers. */
const POD_ANSWERS_MS = 180_000;
const LONGEST_OUTPUT = 4 * 1024 * 1024;
const LONGEST_REASON = 2000;

export interface ProofParts {
  hubRecords: HubRecords;
  engine: Engine;
  queue: Queue;
  endpoints: EndpointService;
  podRecords: PodRecords;
  /** Opens a connection to a port of a running Pod. */
  dialPod: (account: string, pod: string, port: number) => Promise<Duplex>;
  clock: Clock;
  failed: Failed;
  /** Whether it is this node's turn. */
  mine?: ((now: number) => Promise<boolean>) | undefined;
}

type Verdict = { outcome: "PASSED" } | { outcome: "FAILED"; reason: string };

export class HubProofs implements AsyncDisposable {
  readonly #parts: ProofParts;
  readonly #duty: Duty;

  constructor(parts: ProofParts) {
    this.#parts = parts;
    const { mine = async () => true } = parts;
    const tick = async (now: number) => void ((await mine(now)) && (await this.tick()));
    this.#duty = every(parts.clock, TESTING, tick, parts.failed);
  }

  /** Called when a test was asked for, so that it begins now. */
  begin(): void {
    floating(this.#duty.soon(), named(this.#parts.failed, TESTING.name));
  }

  async tick(): Promise<void> {
    const selected = { key: { name: "testing", value: "yes" } };
    for await (const item of this.#parts.hubRecords.deployments.all(selected)) {
      // A failure at one deployment must not hold up the others.
      await this.#goOn(item).catch(named(this.#parts.failed, TESTING.name));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#duty[Symbol.asyncDispose]();
  }

  async #goOn({ id }: DeploymentItem): Promise<void> {
    for (;;) {
      const item = await this.#parts.hubRecords.deployments.get(id);
      if (item?.doc.test !== "RUNNING") return;
      const at = item.doc.cases.findIndex(({ outcome }) => outcome === "WAITING");
      if (at < 0) return this.#end(item);
      const verdict = await (item.doc.type === "POD" ? this.#askPod(item, at) : this.#runJob(item, at));
      if (!verdict) return;
      await this.#note(id, at, item.doc.cases[at]!.jobId, verdict);
    }
  }

  /** The job's id is on disk before the job is, so that no crash can make a second one. */
  async #runJob(item: DeploymentItem, at: number): Promise<Verdict | undefined> {
    const { engine, endpoints, queue, clock, hubRecords } = this.#parts;
    const endpoint = await endpoints.find(item.id);
    if (!endpoint) return void (await hubRecords.deployments.removeIfThere(item.id));
    const { jobId, ...test } = item.doc.cases[at]!;
    if (jobId === null) {
      await this.#patchCase(item.id, at, null, { jobId: engine.newId("run") });
      return this.#runJob((await hubRecords.deployments.get(item.id))!, at);
    }
    const [job] = await queue.find([jobId], clock.now());
    if (!job) return void (await this.#submit(endpoint, jobId, test));
    return jobLifecycle.isFinal(job.state) ? this.#verdictOn(job, test.expected) : undefined;
  }

  async #submit({ id, account, doc }: EndpointItem, jobId: string, { body, timeoutMs }: Omit<KeptCase, "jobId">) {
    const policy = { errorRetries: 0, lowPriority: false, webhooks: [], hasCredential: false, ttlMs: LONGEST_WAIT_MS };
    const submission = {
      endpoint: { id, executionTimeoutMs: doc.timeout },
      terms: { ...policy, ...(timeoutMs !== undefined && { executionTimeoutMs: timeoutMs }) },
      body: body ?? '{"input":{}}',
      mode: "run" as const,
      idempotency: { key: `hub-test ${jobId}`, digest: "" },
      ...(doc.sharedAs !== undefined && { by: { account } }),
    };
    await this.#parts.engine.submit(submission, jobId);
  }

  async #verdictOn(job: Job, expected: string | undefined): Promise<Verdict> {
    const { endpoint, id, state } = job;
    const { result } = await this.#parts.engine.read(endpoint, id, ["result"]);
    const ended = resultOf(result);
    if (state !== "COMPLETED")
      return failed(`the job ended as ${state}: ${ended.error ?? job.error ?? job.reason ?? "no reason is known"}`);
    if (expected === undefined) return { outcome: "PASSED" };
    if (ended.isTooLong) return failed("the output is too long to be compared");
    const why = mismatch(JSON.parse(expected), ended.output);
    return why === undefined ? { outcome: "PASSED" } : failed(why);
  }

  async #askPod(item: DeploymentItem, at: number): Promise<Verdict | undefined> {
    const { podRecords, clock, dialPod, hubRecords } = this.#parts;
    const pod = await podRecords.pods.get(item.id);
    if (!pod) return void (await hubRecords.deployments.removeIfThere(item.id));
    const { status, reason, startedAt } = pod.doc;
    const { request, reason: before, jobId } = item.doc.cases[at]!;
    if (status === "EXITED" || status === "ERROR")
      return failed(`the Pod is ${status}${reason === null ? "" : `: ${reason.text}`}`);
    const waitedMs = clock.now() - (item.doc.startedAt ?? item.createdAt);
    if (status !== "RUNNING")
      return waitedMs > POD_STARTS_MS ? failed(`the Pod is still ${status}: ${reason?.text ?? ""}`) : undefined;
    if (!request) return { outcome: "PASSED" };
    const why = await askPod(() => dialPod(pod.account, pod.id, request.port), request, clock);
    if (why === undefined) return { outcome: "PASSED" };
    const isGivenUp = clock.now() - Math.max(startedAt ?? 0, item.doc.startedAt ?? 0) > POD_ANSWERS_MS;
    if (isGivenUp) return failed(why);
    if (why !== before) await this.#patchCase(item.id, at, jobId, { reason: why });
    return undefined;
  }

  #note(id: string, at: number, jobId: string | null, verdict: Verdict): Promise<void> {
    const reason = "reason" in verdict ? verdict.reason : null;
    return this.#patchCase(id, at, jobId, { outcome: verdict.outcome, reason });
  }

  /** Changes a case of the test that is under way. A test that was begun anew since has another job, and stays unchanged. */
  async #patchCase(id: string, at: number, jobId: string | null, set: Partial<KeptCase>): Promise<void> {
    await this.#parts.hubRecords.deployments.change(id, ({ doc }) => {
      const known = doc.cases[at];
      if (doc.test !== "RUNNING" || known?.jobId !== jobId || known.outcome !== "WAITING") return undefined;
      return { set: { cases: doc.cases.with(at, { ...known, ...set }) } };
    });
  }

  async #end({ id }: DeploymentItem): Promise<void> {
    const testedAt = this.#parts.clock.now();
    await this.#parts.hubRecords.deployments.change(id, ({ doc }) => {
      if (doc.test !== "RUNNING") return undefined;
      const isGood = doc.cases.every(({ outcome }) => outcome === "PASSED");
      return { set: { testedAt, test: hubTestLifecycle.move(id, doc.test, isGood ? "pass" : "fail") } };
    });
  }
}

const failed = (reason: string): Verdict => ({ outcome: "FAILED", reason: reason.slice(0, LONGEST_REASON) });

function resultOf(result: Payload | undefined): { output?: unknown; error?: string; isTooLong?: true } {
  if (result === undefined) return {};
  if (result.length > LONGEST_OUTPUT) return { isTooLong: true };
  const { output, error } = JSON.parse(typeof result === "string" ? result : Buffer.from(result).toString()) as {
    output?: unknown;
    error?: unknown;
  };
  const text = typeof error === "string" ? error : error === undefined ? undefined : JSON.stringify(error);
  return { output, ...(text !== undefined && { error: text }) };
}
