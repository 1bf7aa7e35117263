/** A server with much in it, and many who follow it: what the figures of the console are measured on. */
import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { realClock, stay } from "../../platform/src/kernel/clock.ts";
import type { Walk } from "./walk.ts";

export const ENDPOINTS = 200;
export const PODS = 500;
export const JOBS = 10_000;
/** A machine has 64 virtual GPUs of each type. */
const GPU_TYPES = 16;
/** So many calls are under way at once. */
const AT_ONCE = 8;
/** With so many, each may take 32 ms where 1,000 a second are asked. */
const CHANGES_AT_ONCE = 32;

/** Runs a task for each number, a few at a time. */
async function each<T>(count: number, task: (place: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let next = 0;
  const run = async () => {
    while (next < count) {
      const place = next++;
      made[place] = await task(place);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return made;
}

export interface Crowd {
  endpoints: string[];
  pods: string[];
  /** The endpoint with all the jobs, which wait. */
  busy: string;
}

/** Pods are stopped, and no endpoint has workers: records are enough. */
export async function crowd({ at, folder }: Walk): Promise<Crowd> {
  const endpoints = await each(ENDPOINTS, (place) =>
    at.endpoint({ name: `endpoint ${place}`, workers: { min: 0, max: 0 } }),
  );
  const { json: catalog } = await at.call("GET", "/v2/catalog/gpus?include=AVAILABILITY&product=POD");
  const types: { id: string }[] = catalog.gpus.slice(0, GPU_TYPES);
  const pods = await each(PODS, async (place) => {
    const gpu = { id: types[place % types.length]!.id, count: 1 };
    const { json, text } = await at.call("POST", "/v2/pods", {
      ...{ name: `Pod ${place}`, image: `host:${folder}`, cmd: ["sleep", "3600"], gpu },
    });
    if (json.id === undefined) throw new Error(text);
    const { status } = await at.call("POST", `/v2/pods/${json.id}/action`, { action: "stop" });
    // A Pod that runs outlives its server, and this many would outlive the measurement.
    if (status !== 200) throw new Error(`Pod ${json.id} was not stopped: ${status}`);
    return json.id as string;
  });
  const busy = endpoints[0]!;
  await each(JOBS, (place) => at.call("POST", `/v2/${busy}/run`, { input: { place } }));
  return { endpoints, pods, busy };
}

const FOLLOWERS = new URL("./fixtures/followers.mjs", import.meta.url);

/** Follow the account's events like pages do, and count them: in a thread, since they would else take the time of what writes. */
export function followers(url: string, key: string, count: number) {
  const events = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  const thread = new Worker(FOLLOWERS, { workerData: { url, key, count, events } });
  let failure: unknown;
  thread.once("error", (error) => {
    failure = error;
  });
  return {
    /** How many each has seen so far. */
    events() {
      if (failure !== undefined) throw failure;
      return events[0]! / count;
    },
    async end() {
      await thread.terminate();
    },
  };
}

/** Changes records, at most so many a second, until it is stopped. Every change of another record is an event. */
export function changes({ at }: Walk, { pods, endpoints }: Crowd, perSecond: number) {
  let isOver = false;
  let made = 0;
  const began = realClock.now();
  const run = async (lane: number) => {
    for (let turn = lane; !isOver; turn += CHANGES_AT_ONCE) {
      const early = (made / perSecond) * 1000 - (realClock.now() - began);
      if (early > 0) await stay(early);
      made++;
      if (turn % 2 === 0) await at.call("PATCH", `/v2/pods/${pods[turn % pods.length]}`, { name: `Pod ${turn}` });
      else await at.call("POST", `/v2/${endpoints[turn % endpoints.length]}/run`, { input: {} });
    }
  };
  const running = Array.from({ length: CHANGES_AT_ONCE }, (_, lane) => run(lane));
  return {
    made: () => made,
    async end() {
      isOver = true;
      await Promise.all(running);
    },
  };
}

/** A page reads changes that come sooner one after the other together. */
const CALM_MS = 2500;

/** How long after its answer a single change is in a stream, and on the page of its list. In ms. */
export async function delays(walk: Walk, count: number): Promise<{ toStream: number[]; toPage: number[] }> {
  const { at, context } = walk;
  const page = await context.newPage();
  await page.goto(`${at.server.url}/secrets`);
  await page.locator("h1").first().waitFor();
  const seen = new Map<string, number>();
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${at.key}` };
  const { body } = await fetch(`${at.server.url}/v2/account/events`, { headers, signal: stop.signal });
  const reading = (async () => {
    for await (const bytes of body as unknown as AsyncIterable<Uint8Array>)
      for (const [, id] of Buffer.from(bytes)
        .toString()
        .matchAll(/"resource":"secrets","id":"(\w+)"/g))
        if (!seen.has(id!)) seen.set(id!, realClock.now());
  })().catch(() => undefined);
  const [toStream, toPage]: [number[], number[]] = [[], []];
  for (let place = 0; place < count; place++) {
    const name = `PROBE_${realClock.now()}`;
    const { json } = await at.call("POST", "/v2/account/secrets", { name, value: "x" });
    const answered = realClock.now();
    await page.getByText(name).first().waitFor();
    toPage.push(realClock.now() - answered);
    toStream.push(Math.max(0, (seen.get(json.id) ?? Number.POSITIVE_INFINITY) - answered));
    await at.call("DELETE", `/v2/account/secrets/${json.id}`);
    await stay(CALM_MS);
  }
  stop.abort();
  await reading;
  await page.close();
  return { toStream, toPage };
}

const TICKS_A_SECOND = 100;

/** Processor seconds and memory in MB of a process so far. */
export async function paidBy(pid: number): Promise<{ cpuS: number; memoryMb: number }> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).split(") ")[1]!.split(" ");
  const memory = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"));
  return {
    cpuS: (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND,
    memoryMb: Math.round(Number(memory![1]) / 1000),
  };
}
