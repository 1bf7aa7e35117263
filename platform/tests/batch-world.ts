/** Shared by the tests of batches: makes a batch in few words, and reads its results. */
import { expect } from "vitest";
import type { JobWorld, TestWorker } from "./job-world.ts";
import type { Answer } from "./world.ts";

/** How often the server works on batches. */
export const BATCH_TICK_MS = 2000;

export const inputs = (count: number) => Array.from({ length: count }, (_, i) => ({ input: { i } }));

export async function draft(world: JobWorld, count = 3): Promise<{ id: string; requestIds: string[] }> {
  return (await world.invoke("POST", "/batch", { body: inputs(count) })).json;
}

export async function finalized(world: JobWorld, count = 3) {
  const batch = await draft(world, count);
  await world.invoke("POST", `/batch/${batch.id}/finalize`);
  return batch;
}

export const shown = async (world: JobWorld, id: string) => (await world.invoke("GET", `/batch/${id}`)).json;
export const requestsOf = async (world: JobWorld, id: string, query = "") =>
  (await world.invoke("GET", `/batch/${id}/requests${query}`)).json;

export async function work(
  worker: TestWorker,
  result: (input: { i: number }) => object = (input) => ({ output: input.i }),
) {
  const job = (await worker.take())!;
  await worker.done(job.id, result(job.input as { i: number }));
  return job;
}

export function expectRefusal({ status, json }: Answer, expected: number, text: string): void {
  expect([status, json]).toEqual([expected, { error: expect.stringContaining(text), message: json.error }]);
}

export const counts = ({
  requestInQueue,
  requestInProgress,
  requestCompleted,
  requestFailed,
  requestCancelled,
}: Answer["json"]) => [requestInQueue, requestInProgress, requestCompleted, requestFailed, requestCancelled];
