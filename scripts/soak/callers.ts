/** Those who use the server during a soak: callers of jobs at a fixed rate, and people who make, look at and remove things. */
import { stay } from "../../platform/src/kernel/clock.ts";
import type { SeededRandom } from "../../platform/src/kernel/random.ts";
import { EventFollower, readLists } from "../../platform/tests/event-follower.ts";
import type { Server } from "../../platform/tests/process.ts";
import type { Ask, JobLedger } from "./ledger.ts";

export interface Used {
  server: Server;
  key: string;
  /** The folder with the programs. */
  apps: string;
  ask: Ask;
  ledger: JobLedger;
  chance: SeededRandom;
  isOver(): boolean;
  /** Endpoints by what they are for. */
  endpoints: Record<"jobs" | "stream" | "app" | "rare", string>;
  tally: Tally;
}

export class Tally {
  readonly done: Record<string, number> = {};
  readonly failed: Record<string, { times: number; first: string }> = {};
  /** Calls that were left out, since too many were under way. */
  leftOut = 0;

  async note(kind: string, work: Promise<unknown>): Promise<void> {
    this.done[kind] = (this.done[kind] ?? 0) + 1;
    await work.catch((error: Error) => {
      const said = `${error.message} ${error.cause ?? ""}`;
      const before = this.failed[kind];
      if (!before) console.log(`FAILED: ${kind}: ${said}`);
      this.failed[kind] = { first: before?.first ?? said, times: (before?.times ?? 0) + 1 };
    });
  }
}

const MOST_UNDER_WAY = 200;
const LOOK_MS = 500;
const TRIES = 240;
const CPU = { id: "cpu3c", vcpuCount: 2 };

/** Asks, and fails unless it is answered with this status. */
async function expectStatus({ ask }: Used, expected: number, method: string, path: string, body?: unknown) {
  const { status, json, text } = await ask(method, path, body);
  if (status !== expected) throw new Error(`${method} ${path}: ${status} ${text.slice(0, 300)}`);
  return json;
}

const calls: [weight: number, kind: string, call: (used: Used) => Promise<void>][] = [
  [50, "run", (used) => run(used, used.endpoints.jobs, { ms: used.chance.below(20) })],
  [
    20,
    "runsync",
    async (used) => {
      const { status } = await expectStatus(used, 200, "POST", `/v2/${used.endpoints.jobs}/runsync`, { input: {} });
      if (status !== "COMPLETED") throw new Error(`/runsync answered ${status}`);
      used.ledger.acceptedWithEnd(status);
    },
  ],
  [10, "stream", stream],
  [
    5,
    "cancel",
    async (used) => {
      const { id } = await expectStatus(used, 200, "POST", `/v2/${used.endpoints.jobs}/run`, { input: { ms: 50 } });
      used.ledger.accepted(used.endpoints.jobs, id);
      await expectStatus(used, 200, "POST", `/v2/${used.endpoints.jobs}/cancel/${id}`);
    },
  ],
  [10, "application", (used) => expectStatus(used, 200, "GET", `/v2/${used.endpoints.app}/hello`)],
  [3, "health", (used) => expectStatus(used, 200, "GET", `/v2/${used.endpoints.jobs}/health`)],
  [2, "list of jobs", (used) => expectStatus(used, 200, "GET", `/v2/${used.endpoints.jobs}/requests`)],
];
/** Each call as often as it weighs. */
const deck = calls.flatMap(([weight, kind, call]) => Array.from({ length: weight }, () => ({ kind, call })));

async function run(used: Used, endpoint: string, input: object): Promise<void> {
  const { id } = await expectStatus(used, 200, "POST", `/v2/${endpoint}/run`, { input });
  used.ledger.accepted(endpoint, id);
}

async function stream(used: Used): Promise<void> {
  const { stream: endpoint } = used.endpoints;
  const { id } = await expectStatus(used, 200, "POST", `/v2/${endpoint}/run`, { input: { text: "to the mill" } });
  used.ledger.accepted(endpoint, id);
  const headers = { authorization: `Bearer ${used.key}`, accept: "text/event-stream" };
  const answer = await fetch(`${used.server.url}/v2/${endpoint}/stream/${id}`, { headers });
  const text = await answer.text();
  if (!text.includes("mill")) throw new Error(`a stream ended with ${answer.status} ${text.slice(0, 200)}`);
}

/** Begins a call every so often, without waiting for those before it. */
export async function callAtRate(used: Used, perSecond: number): Promise<void> {
  const began = performance.now();
  const underWay = new Set<Promise<void>>();
  for (let number = 1; !used.isOver(); number++) {
    const early = began + (number * 1000) / perSecond - performance.now();
    if (early > 0) await stay(early);
    if (underWay.size >= MOST_UNDER_WAY) {
      used.tally.leftOut++;
      continue;
    }
    const { kind, call } = deck[used.chance.below(deck.length)]!;
    const calling = used.tally.note(kind, call(used)).finally(() => underWay.delete(calling));
    underWay.add(calling);
  }
  await Promise.all(underWay);
}

/** What goes on beside the calls, each again and again with a pause after it. */
const pastimes: [pauseMs: number, kind: string, work: (used: Used) => Promise<void>][] = [
  [10_000, "Pod made, followed, stopped, started and deleted", walkPod],
  [5_000, "console looks", lookAround],
  [25_000, "worker comes and goes", (used) => run(used, used.endpoints.rare, {})],
  // Each kills three workers, and after eight within ten minutes new ones start a minute apart.
  [600_000, "worker killed by its job", (used) => run(used, used.endpoints.rare, { die: true })],
  [1_000, "log of an endpoint followed", (used) => follow(used, `/v2/serverless/${used.endpoints.jobs}/logs`, 500)],
  [1_000, "events followed", followEvents],
  [30_000, "things made, changed and removed", makeThings],
  [60_000, "endpoint made and removed", makeEndpoint],
];

export async function passTime(used: Used): Promise<void> {
  await Promise.all(
    pastimes.map(async ([pauseMs, kind, work]) => {
      while (!used.isOver()) {
        await used.tally.note(kind, work(used));
        for (let left = pauseMs; left > 0 && !used.isOver(); left -= LOOK_MS) await stay(LOOK_MS);
      }
    }),
  );
}

async function untilPod({ ask }: Used, id: string, wanted: string): Promise<void> {
  let seen = "";
  for (let tries = 0; tries < TRIES; tries++) {
    const { status, json } = await ask("GET", `/v2/pods/${id}`);
    seen = status === 200 ? json.status : String(status);
    if (seen === wanted) return;
    await stay(LOOK_MS);
  }
  throw new Error(`Pod ${id} is ${seen}, and not ${wanted}`);
}

async function walkPod(used: Used): Promise<void> {
  const body = {
    ...{ name: "box", image: `host:${used.apps}`, cmd: ["node", "chatter.mjs"] },
    gpu: { id: "NVIDIA A40" },
    mounts: { persistent: { size: 10, path: "/workspace" } },
  };
  const { id } = await expectStatus(used, 201, "POST", "/v2/pods", body);
  try {
    await untilPod(used, id, "RUNNING");
    await follow(used, `/v2/pods/${id}/logs`, 5);
    await expectStatus(used, 200, "POST", `/v2/pods/${id}/action`, { action: "stop" });
    await untilPod(used, id, "EXITED");
    await expectStatus(used, 200, "POST", `/v2/pods/${id}/action`, { action: "start" });
    await untilPod(used, id, "RUNNING");
  } finally {
    await expectStatus(used, 204, "DELETE", `/v2/pods/${id}`);
  }
  await untilPod(used, id, "404");
}

/** Follows a log until so many lines have come, or for a minute. */
async function follow({ server, key }: Used, path: string, lines: number): Promise<void> {
  const over = new AbortController();
  const minute = setTimeout(() => over.abort(), 60_000);
  const options = { headers: { authorization: `Bearer ${key}` }, signal: over.signal };
  try {
    const answer = await fetch(server.url + path, options);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    let heard = 0;
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      heard += part.split("\ndata:").length - 1;
      if (heard >= lines) break;
    }
  } catch (error) {
    if (!over.signal.aborted) throw error;
  } finally {
    clearTimeout(minute);
    over.abort();
  }
}

async function followEvents({ server, key }: Used): Promise<void> {
  const follower = new EventFollower();
  for (let times = 0; times < 2; times++) {
    const status = await follower.connect({ url: server.url, key });
    if (status !== 200) throw new Error(`events: ${status}`);
    await stay(20_000);
    await follower.disconnect();
  }
  if (follower.heard.length === 0) throw new Error("no event was heard in 40 s");
}

async function lookAround(used: Used): Promise<void> {
  const { jobs } = used.endpoints;
  await readLists({ url: used.server.url, key: used.key });
  for (const path of [
    ...["/v2/account/me", "/v2/billing", "/v2/billing/pods", "/v2/installation/usage", "/v2/installation/duties"],
    ...[`/v2/serverless/${jobs}/workers`, `/v2/serverless/${jobs}/metrics/history`, "/v2/account/metrics/history"],
    ...["/v2/account/audit?limit=20", "/v2/catalog/gpus", "/v2/catalog/datacenters"],
  ])
    await expectStatus(used, 200, "GET", path);
}

async function makeThings(used: Used): Promise<void> {
  const name = `thing_${used.chance.below(1_000_000_000)}`;
  const secret = await expectStatus(used, 201, "POST", "/v2/account/secrets", { name, value: "v" });
  await expectStatus(used, 200, "PATCH", `/v2/account/secrets/${secret.id}`, { description: "changed" });
  await expectStatus(used, 204, "DELETE", `/v2/account/secrets/${secret.id}`);
  const template = await expectStatus(used, 201, "POST", "/v2/templates", { name, image: "host" });
  await expectStatus(used, 204, "DELETE", `/v2/templates/${template.id}`);
  const volume = { name, size: 10, dataCenter: "EU-RO-1" };
  const made = await expectStatus(used, 201, "POST", "/v2/network-volumes", volume);
  await expectStatus(used, 204, "DELETE", `/v2/network-volumes/${made.id}`);
}

async function makeEndpoint(used: Used): Promise<void> {
  const { id } = await expectStatus(used, 201, "POST", "/v2/serverless", jobsEndpoint(used.apps, "passing"));
  await expectStatus(used, 200, "POST", `/v2/${id}/runsync`, { input: {} });
  await expectStatus(used, 204, "DELETE", `/v2/serverless/${id}`);
}

export const jobsEndpoint = (apps: string, name: string, more: object = {}) => ({
  ...{ name, image: `host:${apps}`, cmd: ["node", "small-worker.mjs"], cpu: [CPU], workers: { min: 0, max: 2 } },
  ...more,
});
