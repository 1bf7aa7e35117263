/** Upgrades three nodes one after the other under load behind HAProxy, and measures handovers: `npx node scripts/rolling.ts --from COMMIT`. */
import { execFileSync, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "pg";
import { stay } from "../platform/src/kernel/clock.ts";
import { apiKeyText } from "../platform/src/kernel/ids.ts";
import { realRandom } from "../platform/src/kernel/random.ts";
import { percentile } from "../platform/tests/hostile/witness.ts";
import { freePort, startPostgres } from "../platform/tests/postgres-server.ts";
import { millrace, root, type Server, startServer, temporaryFolder } from "../platform/tests/process.ts";
import { call } from "../platform/tests/world.ts";

const { values } = parseArgs({
  options: {
    /** The commit of the older release; by default this one. */
    from: { type: "string", default: "HEAD" },
    callers: { type: "string", default: "8" },
    /** Only the times from the end of a node to the next plan. */
    handover: { type: "boolean", default: false },
  },
});
const key = apiKeyText(realRandom);
const NODES = 3;
const STEADY_MS = 10_000;
const LOOK_MS = 20;
const CPU = [{ id: "cpu3c", vcpuCount: 2 }];

/** A checkout of the older release, with the packages of this one. */
function checkOut(commit: string): Disposable & { launcher: string } {
  const folder = `${root.replace(/\/$/, "")}-before`;
  execFileSync("git", ["-C", root, "worktree", "add", "--detach", folder, commit], { stdio: "ignore" });
  execFileSync("cp", ["--archive", "--link", join(root, "node_modules"), join(folder, "node_modules")]);
  rmSync(join(folder, "node_modules/.cache"), { recursive: true, force: true });
  return {
    launcher: join(folder, "millrace"),
    [Symbol.dispose]: () =>
      void execFileSync("git", ["-C", root, "worktree", "remove", "--force", folder], { stdio: "ignore" }),
  };
}

const configOf = (port: number, nodes: readonly number[]) => `
defaults
  mode http
  timeout connect 5s
  timeout client 400s
  timeout server 400s
  # Without it a check fails after 300 ms, and a node on a busy machine counts as dead.
  timeout check 2s
  option redispatch
  retries 3
frontend all
  bind 127.0.0.1:${port}
  default_backend nodes
backend nodes
  balance roundrobin
  option httpchk GET /readyz
  default-server check inter 300ms fall 1 rise 2
${nodes.map((node, number) => `  server n${number} 127.0.0.1:${node}`).join("\n")}
`;

/** A load balancer that asks each node every 300 ms whether it is ready. */
async function startBalancer(folder: string, nodes: readonly number[]): Promise<Disposable & { url: string }> {
  const port = await freePort();
  const file = join(folder, "haproxy.cfg");
  await writeFile(file, configOf(port, nodes));
  const child = spawn("haproxy", ["-q", "-db", "-f", file], { stdio: "ignore" });
  return { url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void child.kill() };
}

interface Load {
  url: string;
  endpoint: string;
  workerKey: string;
  over: boolean;
  took: number[];
  statuses: Record<string, number>;
  failed: string[];
  accepted: string[];
}

/** Submits a job, runs it as a worker, and reads it, over and over, each call once and never again. */
async function useAll(load: Load, worker: string): Promise<void> {
  const path = `/v2/${load.endpoint}`;
  for (let number = 0; !load.over; number++) {
    const submitted = await timed(load, "POST", `${path}/run`, key, { input: { number } });
    if (submitted?.status === 200) load.accepted.push(submitted.json.id);
    const taken = await timed(load, "GET", `${path}/job-take/${worker}?gpu=none&wait=50`, load.workerKey);
    if (taken?.status === 200) {
      const done = `${path}/job-done/${worker}/${taken.json.id}?gpu=none`;
      await timed(load, "POST", done, load.workerKey, { output: number });
    }
    await timed(load, "GET", `/v2/serverless/${load.endpoint}`, key);
    await stay(20);
  }
}

async function timed(load: Load, method: string, path: string, with_: string, body?: unknown) {
  const began = performance.now();
  const answer = await call(load.url, method, path, { key: with_, body }).catch((error: Error) => error);
  load.took.push(performance.now() - began);
  const status = answer instanceof Error ? "no answer" : String(answer.status);
  load.statuses[status] = (load.statuses[status] ?? 0) + 1;
  if (!(answer instanceof Error) && answer.status < 500) return answer;
  load.failed.push(`${method} ${path}: ${answer instanceof Error ? `${answer} ${answer.cause ?? ""}` : answer.text}`);
  return undefined;
}

async function world(launcher: string, leaveS = 2) {
  await using opening = new AsyncDisposableStack();
  const postgres = opening.use(await startPostgres());
  const folder = opening.use(await temporaryFolder());
  const env = {
    ...{ MILLRACE_API_KEY: key, MILLRACE_DATABASE_URL: postgres.url, MILLRACE_RATE_LIMITS: "off" },
    ...{ MILLRACE_SSH_PORT: "off", MILLRACE_LEAVE_S: String(leaveS) },
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  };
  const ports: number[] = [];
  for (let number = 0; number < NODES; number++) ports.push(await freePort());
  const nodes: (Server | undefined)[] = [];
  opening.defer(async () => {
    for (const node of nodes) await node?.[Symbol.asyncDispose]();
  });
  const start = async (number: number, command: string, more: Record<string, string> = {}) => {
    const args = ["--port", String(ports[number])];
    const data = join(folder.path, `${number}`);
    nodes[number] = await startServer(data, { env: { ...env, ...more }, command, cwd: join(command, ".."), args });
  };
  for (let number = 0; number < NODES; number++) await start(number, launcher);
  const place = { data: join(folder.path, "0"), database: postgres.url };
  const opened = opening.move();
  const end = () => opened.disposeAsync();
  return { folder: folder.path, postgres, place, ports, nodes, start, [Symbol.asyncDispose]: end };
}

async function upgrade(): Promise<void> {
  using before = checkOut(values.from);
  await using around = await world(before.launcher);
  using balancer = await startBalancer(around.folder, around.ports);
  const body = { name: "e", image: "host", cpu: CPU };
  const endpoint = (await around.nodes[0]!.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const { MILLRACE_WORKER_KEY: workerKey } = await millrace(around.place, "worker-env", endpoint);
  const fresh = (): Load => {
    const counted = { took: [], statuses: {}, failed: [], accepted: [] };
    return { url: balancer.url, endpoint, workerKey, over: false, ...counted };
  };
  const loads = (load: Load) => Array.from({ length: Number(values.callers) }, (_, slot) => useAll(load, `w${slot}`));
  const run = async (name: string, work: () => Promise<void>) => {
    const load = fresh();
    const calling = loads(load);
    await work();
    load.over = true;
    await Promise.all(calling);
    show(name, load);
    return load.accepted;
  };
  await stay(2_000);
  const accepted = await run("nothing happens", () => stay(STEADY_MS));
  const during = await run("three nodes are upgraded, one after the other", async () => {
    for (let number = 0; number < NODES; number++) {
      const code = await around.nodes[number]!.end("SIGTERM");
      if (code !== 0) console.log(`node ${number} ended with ${code}`);
      await around.start(number, join(root, "millrace"));
      await stay(3_000);
    }
  });
  await showEnds(around.nodes[0]!, fresh(), [...accepted, ...during]);
}

function show(name: string, { took, statuses, failed }: Load): void {
  const [p50, p99] = [percentile(took, 0.5), percentile(took, 0.99)].map((ms) => ms.toFixed(1));
  console.log(`${name}: ${took.length} requests, p50 ${p50} ms, p99 ${p99} ms, ${JSON.stringify(statuses)}`);
  console.log(`  ${failed.length} failed`);
  for (const what of failed.slice(0, 5)) console.log(`    ${what.slice(0, 300)}`);
}

/** What became of the acknowledged jobs, after a worker has taken what was left. */
async function showEnds(node: Server, { endpoint, workerKey }: Load, ids: readonly string[]): Promise<void> {
  const path = `/v2/${endpoint}`;
  for (;;) {
    const taken = await node.call("GET", `${path}/job-take/last?gpu=none`, { key: workerKey });
    if (taken.status !== 200) break;
    const done = `${path}/job-done/last/${taken.json.id}?gpu=none`;
    await node.call("POST", done, { key: workerKey, body: { output: 0 } });
    const { json } = await node.call("GET", `${path}/health`, { key });
    if (json.jobs.inQueue === 0) break;
  }
  const states: Record<string, number> = {};
  for (const id of ids) {
    const { json } = await node.call("GET", `${path}/status/${id}`, { key });
    states[json.status ?? "missing"] = (states[json.status ?? "missing"] ?? 0) + 1;
  }
  console.log(`${ids.length} acknowledged jobs: ${JSON.stringify(states)}`);
}

/** From the end of the node that plans to the first start of a worker that another node planned. */
async function measureHandover(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  // A node that answers on also plans on, so it ends at once here.
  await using around = await world(join(root, "millrace"), 0);
  await around.nodes[2]!.end("SIGTERM");
  await around.start(2, join(root, "millrace"), { MILLRACE_COMPUTE: "host" });
  const database = new Client(around.postgres.url);
  await database.connect();
  const planner = async () => {
    const { rows } = await database.query("SELECT holder FROM leases WHERE name = 'fleet'");
    return rows[0] as { holder: string } | undefined;
  };
  // The first two nodes are asked to end in turn, until it was the one that planned.
  for (const [number, node] of [around.nodes[0]!, around.nodes[1]!].entries()) {
    const held = await planner();
    const body = { name: `e${number}`, image: "host", cmd: ["sleep", "600"], cpu: CPU, workers: { min: 0, max: 1 } };
    const endpoint = (await around.nodes[2]!.call("POST", "/v2/serverless", { key, body })).json.id as string;
    const began = performance.now();
    const ending = node.end(signal);
    await around.nodes[2]!.call("POST", `/v2/${endpoint}/run`, { key, body: { input: {} } });
    let planned: number | undefined;
    while (planned === undefined) {
      const { json } = await around.nodes[2]!.call("GET", `/v2/serverless/${endpoint}/workers`, { key });
      if (json.workers.length > 0) planned = performance.now() - began;
      await stay(LOOK_MS);
    }
    await ending;
    const wasPlanner = (await planner())?.holder !== held?.holder;
    console.log(
      `${signal} of ${wasPlanner ? "the node that planned" : "another node"}: the next worker is planned after ${(planned / 1000).toFixed(2)} s`,
    );
  }
  await database.end();
  await around.nodes[2]!.end("SIGTERM");
}

if (values.handover) for (const signal of ["SIGTERM", "SIGKILL"] as const) await measureHandover(signal);
else await upgrade();
