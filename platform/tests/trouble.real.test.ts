/** A server in trouble: a disk that does not write or is full, a second server, a huge body, a restart during work. */
import { chmod, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { launcher, millrace, ownerKey, run, type Server, startServer, temporaryFolder } from "./process.ts";
import { Wire } from "./wire.ts";

const MIB = 1024 * 1024;
const ENDPOINT = { name: "trouble", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };

/** A client and a worker of one endpoint. `use` switches to another server on the same data after a restart. */
async function endpointOn(folder: string, first: Server) {
  const key = await ownerKey(folder);
  const id = (await first.call("POST", "/v2/serverless", { key, body: ENDPOINT })).json.id as string;
  const { MILLRACE_WORKER_KEY } = await millrace(folder, "worker-env", id);
  let server = first;
  const call = (method: string, path: string, body?: unknown) => server.call(method, `/v2/${id}${path}`, { key, body });
  const ask = (method: string, path: string, body?: unknown) =>
    server.call(method, `/v2/${id}${path}`, { key: MILLRACE_WORKER_KEY, body });
  return {
    id,
    key,
    workerKey: MILLRACE_WORKER_KEY as string,
    call,
    ask,
    submit: async (input: object = {}) => (await call("POST", "/run", { input })).json.id as string,
    take: async (worker = "w1") => (await ask("GET", `/job-take/${worker}?gpu=none`)).json?.id as string,
    done: (job: string, body: unknown, worker = "w1") => ask("POST", `/job-done/${worker}/${job}`, body),
    ping: (job: string, worker = "w1") => ask("GET", `/ping/${worker}?gpu=none&job_id=${job}`),
    status: async (job: string) => (await call("GET", `/status/${job}`)).json,
    use(next: Server) {
      server = next;
    },
  };
}

test("with the writer held still, nothing that must be durable is answered, and all of it afterwards", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const endpoint = await endpointOn(folder.path, server);
  const held = [await endpoint.submit(), await endpoint.submit(), await endpoint.submit()];
  for (const id of held) expect(await endpoint.take()).toBe(id);
  using other = new DatabaseSync(join(folder.path, "queue.db"));
  other.exec("PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE");
  let answered = 0;
  const counted = <T>(answer: Promise<T>) => answer.finally(() => answered++);
  const runs = Array.from({ length: 20 }, () => counted(endpoint.call("POST", "/run", { input: {} })));
  const reports = held.map((id) => counted(endpoint.done(id, { output: id })));
  const synced = counted(endpoint.call("POST", "/runsync?wait=1000", { input: {} }));
  // This request only reads. It is answered after the other request that waits for a second would be.
  await endpoint.call("GET", `/status-sync/${held[0]}?wait=1000`);
  expect(answered).toBe(0);
  // Reads go on, and show nothing that is not on disk.
  expect((await endpoint.status(held[0]!)).status).toBe("IN_PROGRESS");
  expect((await endpoint.call("GET", "/health")).json.jobs).toMatchObject({ completed: 0, inQueue: 0, inProgress: 3 });
  other.exec("ROLLBACK");
  expect((await Promise.all(reports)).map(({ status }) => status)).toEqual([200, 200, 200]);
  const ids = (await Promise.all(runs)).map(({ status, json }) => (status === 200 ? json.id : status));
  expect(new Set(ids).size).toBe(20);
  expect((await synced).json.status).toBe("IN_QUEUE");
  for (const id of held) expect(await endpoint.status(id)).toMatchObject({ status: "COMPLETED", output: id });
  for (const id of ids) expect((await endpoint.status(id)).status).toBe("IN_QUEUE");
});

test("a full disk refuses new work with 503 and its reason, loses nothing, and is forgotten once there is room", async () => {
  await using folder = await temporaryFolder();
  const data = join(folder.path, "data");
  // No file may grow beyond 6 MB: SQLite's logs reach 4 MB before they are emptied. The hard limit is unchanged, so that the soft one can be
  // lifted again.
  const command = join(folder.path, "small-disk.sh");
  await writeFile(command, `#!/bin/bash\ntrap '' XFSZ\nulimit -S -f 6144\nexec ${launcher} "$@"\n`);
  await chmod(command, 0o755);
  await using server = await startServer(data, { command });
  const endpoint = await endpointOn(data, server);
  const kept = [await endpoint.submit({ number: 0 })];
  expect(await endpoint.take()).toBe(kept[0]);
  // Jobs are listed from the disk, so the claim is written by then (decision 0007).
  await endpoint.call("GET", "/requests");
  const filling = "x".repeat(150_000);
  let refused: { status: number; text: string } | undefined;
  for (let i = 1; i < 200 && !refused; i++) {
    // On a slow machine this takes longer than a silent worker keeps its job.
    await endpoint.ping(kept[0]!);
    const answer = await endpoint.call("POST", "/run", { input: { number: i, filling } });
    if (answer.status === 200) kept.push(answer.json.id);
    else refused = answer;
  }
  expect(refused?.status).toBe(503);
  expect(JSON.parse(refused!.text).error).toMatch(/^The data folder could not be written: /);
  // Larger than any file may be, whatever is still free in the existing files.
  const larger = "x".repeat(8 * MIB);
  expect((await endpoint.done(kept[0]!, { output: larger })).status).toBe(503);
  expect((await endpoint.call("POST", "/run", { input: { filling: larger } })).status).toBe(503);
  expect((await endpoint.status(kept[0]!)).status).toBe("IN_PROGRESS");
  for (const id of kept.slice(1)) expect((await endpoint.status(id)).status).toBe("IN_QUEUE");
  expect(server.process.exitCode).toBeNull();

  expect((await run("prlimit", ["--pid", String(server.process.pid), "--fsize=unlimited"])).code).toBe(0);
  expect((await endpoint.done(kept[0]!, { output: filling })).status).toBe(200);
  kept.push(await endpoint.submit({ number: "after" }));
  for (const id of kept.slice(1)) {
    expect(await endpoint.take()).toBe(id);
    await endpoint.done(id, { output: 1 });
  }
  for (const id of kept) expect((await endpoint.status(id)).status).toBe("COMPLETED");
}, 600_000);

test("a damaged log is kept, and the start after it says what is missing", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "queue.db-wal");
  const jobs: string[] = [];
  let endpoint = "";
  {
    await using server = await startServer(folder.path);
    const on = await endpointOn(folder.path, server);
    endpoint = on.id;
    while (jobs.length < 8) jobs.push(await on.submit());
    await server.end("SIGKILL");
  }
  const bytes = await readFile(file);
  // A byte in the middle of what was written. SQLite loses everything after it.
  bytes[bytes.indexOf(jobs[4]!)]! ^= 0xff;
  await writeFile(file, bytes);
  await using server = await startServer(folder.path);
  const key = await ownerKey(folder.path);
  const status = async (job: string) => (await server.call("GET", `/v2/${endpoint}/status/${job}`, { key })).status;
  const lost: string[] = [];
  for (const job of jobs) if ((await status(job)) === 404) lost.push(job);
  expect(lost.length).toBeGreaterThan(0);
  expect(await status(jobs[0]!)).toBe(200);
  expect(server.log()).toContain("the log of queue.db is damaged at byte");
  for (const job of lost.slice(1)) expect(server.log()).toContain(job);
  const [kept] = (await readdir(folder.path)).filter((name) => name.startsWith("queue.db-wal.damaged-"));
  expect((await readFile(join(folder.path, kept!))).equals(bytes)).toBe(true);
});

test("a second server on the same folder is refused with the reason, and the first is not disturbed", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const endpoint = await endpointOn(folder.path, server);
  const id = await endpoint.submit();
  const second = await run(launcher, ["serve", "--data", folder.path, "--port", "0"]);
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringContaining(`another Millrace server already runs on ${folder.path}`),
  ]);
  expect(await endpoint.take()).toBe(id);
  expect(await server.end("SIGTERM")).toBe(0);
  await using third = await startServer(folder.path);
  expect((await third.call("GET", `/v2/${endpoint.id}/status/${id}`, { key: endpoint.key })).status).toBe(200);
});

test("bodies of 20 MB in flight are whole in the end, and small requests are answered beside them", async () => {
  await using folder = await temporaryFolder();
  await using server = await startServer(folder.path);
  const endpoint = await endpointOn(folder.path, server);
  using wire = new Wire(server.url);
  const small = async () =>
    (await wire.send("POST", `/v2/${endpoint.id}/run`, endpoint.key, '{"input":{"small":true}}')).status;
  const text = "x".repeat(20 * MIB - 100);
  const whole = `{"input":{"text":"${text}"}}`;
  const bodies = Array.from({ length: 5 }, () =>
    wire.begin("POST", `/v2/${endpoint.id}/runsync?wait=1000`, endpoint.key, whole.length),
  );
  for (let at = 0; at < whole.length; at += 2 * MIB) {
    // Every body has arrived up to here and none is complete. None is answered, but a small request is.
    expect(await small()).toBe(200);
    expect(bodies.filter(({ isAnswered }) => isAnswered())).toEqual([]);
    await Promise.all(bodies.map((body) => body.write(whole.slice(at, at + 2 * MIB))));
  }
  const large = bodies.map(async (body) => (await body.end()).status);
  expect(await Promise.all([...large, small(), small()])).toEqual(Array(7).fill(200));
  const lengths: number[] = [];
  while (lengths.length < bodies.length) {
    const { json } = await endpoint.ask("GET", "/job-take-batch/w1?batch_size=100");
    for (const { input } of json) if (input.text) lengths.push(input.text.length);
  }
  expect(lengths).toEqual(bodies.map(() => text.length));
}, 600_000);

describe.each([["SIGKILL"], ["SIGTERM"]] as const)("after a restart by %s", (signal) => {
  test("a worker's result is accepted, though the claim may never have reached the disk", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const endpoint = await endpointOn(folder.path, server);
    const id = await endpoint.submit();
    expect(await endpoint.take()).toBe(id);
    await server.end(signal);
    await using again = await startServer(folder.path);
    endpoint.use(again);
    expect((await endpoint.done(id, { output: "over the restart" })).status).toBe(200);
    expect(await endpoint.status(id)).toMatchObject({
      status: "COMPLETED",
      output: "over the restart",
      workerId: "w1",
    });
  });

  test("a job that a worker lists in its ping is not given to another", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const endpoint = await endpointOn(folder.path, server);
    const first = await endpoint.submit();
    expect(await endpoint.take()).toBe(first);
    await server.end(signal);
    await using again = await startServer(folder.path);
    endpoint.use(again);
    await endpoint.ask("GET", `/ping/w1?gpu=none&job_id=${first}`);
    const second = await endpoint.submit();
    expect(await endpoint.take("w2")).toBe(second);
    expect(await endpoint.status(first)).toMatchObject({ status: "IN_PROGRESS", workerId: "w1" });
  });

  test("counters, records, reasons, keys and purged jobs are as they were", async () => {
    await using folder = await temporaryFolder();
    await using server = await startServer(folder.path);
    const endpoint = await endpointOn(folder.path, server);
    const finish = async (result: object) => {
      const id = await endpoint.submit();
      await endpoint.take();
      await endpoint.done(id, result);
      return id;
    };
    const jobs = [await finish({ output: { a: [1] } }), await finish({ error: "no" }), await finish({})];
    const retried = await finish({ error: "again" });
    await endpoint.call("POST", `/retry/${retried}`);
    await endpoint.take("w2");
    await endpoint.done(retried, { output: "retried" }, "w2");
    const cancelled = await endpoint.submit();
    await endpoint.call("POST", `/cancel/${cancelled}`);
    const purged = await endpoint.submit();
    await endpoint.call("POST", "/purge-queue");
    const waiting = await endpoint.submit();
    const seen = async () => ({
      health: (await endpoint.call("GET", "/health")).json.jobs,
      records: await Promise.all([...jobs, retried, cancelled].map(endpoint.status)),
      waiting: (await endpoint.status(waiting)).status,
      purged: (await endpoint.call("GET", `/status/${purged}`)).json,
    });
    const before = await seen();
    expect(before.health).toEqual({ completed: 3, failed: 2, inProgress: 0, inQueue: 1, retried: 1 });
    await server.end(signal);
    await using again = await startServer(folder.path);
    endpoint.use(again);
    expect(await seen()).toEqual(before);
  });
});
