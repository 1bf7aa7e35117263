/** PostgreSQL itself is killed under load, three times: the server recovers by itself, and no acknowledged job is missing. */
import { expect, test } from "vitest";
import { realClock } from "../src/kernel/clock.ts";
import { startPostgres } from "./postgres-server.ts";
import { millrace, ownerKey, type Server, startServer, temporaryFolder } from "./process.ts";

const RESTARTS = 3;
const BETWEEN_RESTARTS = 300;
const SUBMITTERS = 8;
const WORKERS = 2;

interface Load {
  server: Server;
  endpoint: string;
  key: string;
  workerKey: string;
  /** The acknowledged ids, with the number that each job carries. */
  accepted: Map<string, number>;
  /** The acknowledged results. */
  reported: Set<string>;
  refused: number;
  stopped: boolean;
}

test(`ask 14: ${RESTARTS} restarts of PostgreSQL under load lose nothing that was answered`, async () => {
  await using folder = await temporaryFolder();
  await using postgres = await startPostgres();
  await using server = await startServer(folder.path, { env: { MILLRACE_DATABASE_URL: postgres.url } });
  const key = await ownerKey(folder.path);
  const body = { name: "load", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await server.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const place = { data: folder.path, database: postgres.url };
  const { MILLRACE_WORKER_KEY: workerKey } = await millrace(place, "worker-env", endpoint);
  const load: Load = {
    server,
    endpoint,
    key,
    workerKey,
    accepted: new Map(),
    reported: new Set(),
    refused: 0,
    stopped: false,
  };
  const begun = realClock.monotonic();
  const running = [
    ...Array.from({ length: SUBMITTERS }, () => submit(load)),
    ...Array.from({ length: WORKERS }, (_, i) => work(load, `w${i}`)),
  ];
  for (let restart = 1; restart <= RESTARTS; restart++) {
    await until(() => load.accepted.size >= restart * BETWEEN_RESTARTS);
    await postgres.restart();
  }
  await until(() => load.accepted.size >= (RESTARTS + 1) * BETWEEN_RESTARTS);
  load.stopped = true;
  await Promise.all(running);

  let finished = 0;
  for (const [id, n] of load.accepted) {
    const { status, json } = await server.call("GET", `/v2/${endpoint}/status/${id}`, { key });
    expect([id, status]).toEqual([id, 200]);
    if (load.reported.has(id)) expect(json).toMatchObject({ status: "COMPLETED", output: { n } });
    if (json.status === "COMPLETED") finished++;
  }
  const seconds = ((realClock.monotonic() - begun) / 1000).toFixed(1);
  console.log(
    `${RESTARTS} restarts of PostgreSQL: ${load.accepted.size} jobs acknowledged, ${load.reported.size} results acknowledged, ` +
      `${finished} finished, ${load.refused} requests refused meanwhile, none missing; ${seconds} s`,
  );
}, 300_000);

async function submit(load: Load): Promise<void> {
  while (!load.stopped) {
    const n = load.accepted.size;
    const { status, json } = await load.server.call("POST", `/v2/${load.endpoint}/run`, {
      key: load.key,
      body: { input: { n } },
    });
    if (status === 200) load.accepted.set(json.id, n);
    else {
      expect([status, json.error]).toEqual([503, expect.any(String)]);
      load.refused++;
    }
  }
}

async function work(load: Load, name: string): Promise<void> {
  const call = (method: string, path: string, body?: unknown) =>
    load.server.call(method, `/v2/${load.endpoint}${path}`, { key: load.workerKey, body });
  while (!load.stopped) {
    const taken = await call("GET", `/job-take/${name}?gpu=none`);
    if (taken.status !== 200) continue;
    const { id, input } = taken.json;
    // The public worker package sends a result again after a 5xx, and so does this worker.
    for (let done = 503; done !== 200 && !load.stopped; ) {
      done = (await call("POST", `/job-done/${name}/${id}?gpu=none`, { output: { n: input.n } })).status;
      if (done === 200) load.reported.add(id);
    }
  }
}

/** Checks every 20 ms of real time. */
async function until(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => realClock.after(20, () => resolve(undefined)));
}
