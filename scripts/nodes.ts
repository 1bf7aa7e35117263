/** Several servers on one PostgreSQL: what a job costs with 1, 2 and 4 of them, or two releases side by side (`--beside COMMIT`). */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { apiKeyText } from "../platform/src/kernel/ids.ts";
import { realRandom } from "../platform/src/kernel/random.ts";
import { startPostgres } from "../platform/tests/postgres-server.ts";
import { millrace, root, type Server, startServer, temporaryFolder } from "../platform/tests/process.ts";

const { values } = parseArgs({
  options: { beside: { type: "string" }, jobs: { type: "string", default: "2000" } },
});
const JOBS = Number(values.jobs);
const CALLERS = 16;
const TICKS_A_SECOND = 100;
const key = apiKeyText(realRandom);

/** Servers on an empty PostgreSQL, one for each launcher. */
async function startAll(launchers: readonly string[]) {
  await using opening = new AsyncDisposableStack();
  const postgres = opening.use(await startPostgres());
  const folder = opening.use(await temporaryFolder());
  const env = {
    ...{ MILLRACE_API_KEY: key, MILLRACE_DATABASE_URL: postgres.url, MILLRACE_RATE_LIMITS: "off" },
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  };
  const servers: Server[] = [];
  for (const [number, command] of launchers.entries())
    servers.push(
      opening.use(await startServer(join(folder.path, `${number}`), { env, command, cwd: join(command, "..") })),
    );
  const body = { name: "e", image: "host", cpu: [{ id: "cpu3c", vcpuCount: 2 }] };
  const endpoint = (await servers[0]!.call("POST", "/v2/serverless", { key, body })).json.id as string;
  const place = { data: join(folder.path, "0"), database: postgres.url };
  const { MILLRACE_WORKER_KEY: workerKey } = await millrace(place, "worker-env", endpoint);
  const opened = opening.move();
  return { servers, endpoint, workerKey, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

type World = Awaited<ReturnType<typeof startAll>>;

/** Submits a job to one server and runs it through the next. Returns its id. */
async function runOne({ servers, endpoint, workerKey }: World, number: number, worker: string): Promise<string> {
  const [here, there] = [servers[number % servers.length]!, servers[(number + 1) % servers.length]!];
  const path = `/v2/${endpoint}`;
  const submitted = await here.call("POST", `${path}/run`, { key, body: { input: { number } } });
  if (submitted.status !== 200) throw new Error(`a job was refused with ${submitted.status}: ${submitted.text}`);
  const taken = await there.call("GET", `${path}/job-take/${worker}?gpu=none`, { key: workerKey });
  if (taken.status !== 200) throw new Error(`no job was given: ${taken.status} ${taken.text}`);
  const done = await there.call("POST", `${path}/job-done/${worker}/${taken.json.id}?gpu=none`, {
    key: workerKey,
    body: { output: number },
  });
  if (done.status !== 200) throw new Error(`a result was refused with ${done.status}: ${done.text}`);
  return submitted.json.id;
}

async function runMany(world: World, count: number): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const caller = async (_: unknown, slot: number) => {
    while (next < count) ids.push(await runOne(world, next++, `w${slot}`));
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return ids;
}

/** How many jobs are in each state, as this server sees them. */
async function statesOf({ endpoint }: World, server: Server, ids: readonly string[]): Promise<string> {
  const states: Record<string, number> = {};
  for (const id of ids) {
    const { status, json } = await server.call("GET", `/v2/${endpoint}/status/${id}`, { key });
    const state = json.status ?? `status ${status}`;
    states[state] = (states[state] ?? 0) + 1;
  }
  return JSON.stringify(states);
}

/** The processor time of a process and of those below it, in milliseconds. */
function cpuOf(pid: number): number {
  const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const fields = after.split(" ");
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  return (
    ((Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND) * 1000 +
    below.reduce((sum, one) => sum + cpuOf(one), 0)
  );
}

async function measureCost(): Promise<void> {
  let alone: number | undefined;
  for (const nodes of [1, 2, 4]) {
    await using world = await startAll(Array(nodes).fill(join(root, "millrace")));
    await runMany(world, 200);
    const total = () => world.servers.reduce((sum, { process: { pid } }) => sum + cpuOf(pid!), 0);
    const before = total();
    await runMany(world, JOBS);
    const each = (total() - before) / JOBS;
    alone ??= each;
    console.log(
      `${nodes} servers: ${each.toFixed(2)} ms of processor for a job in the servers, ${(each / alone).toFixed(2)} times one server's`,
    );
  }
}

/** The older release starts first, then the newer one joins, and each runs what the other took. Then the older one leaves. */
async function runBeside(commit: string): Promise<void> {
  const before = `${root.replace(/\/$/, "")}-before`;
  execFileSync("git", ["-C", root, "worktree", "add", "--detach", before, commit], { stdio: "ignore" });
  try {
    // The packages with second names, except what was built of this release.
    execFileSync("cp", ["--archive", "--link", join(root, "node_modules"), join(before, "node_modules")]);
    rmSync(join(before, "node_modules/.cache"), { recursive: true, force: true });
    await using world = await startAll([join(before, "millrace"), join(root, "millrace")]);
    const ids = await runMany(world, JOBS);
    const [older, newer] = world.servers as [Server, Server];
    console.log(`${commit} beside this one, as the older server sees it: ${await statesOf(world, older, ids)}`);
    const code = await older.end("SIGTERM");
    world.servers.shift();
    const after = await runMany(world, JOBS);
    const states = await statesOf(world, newer, [...ids, ...after]);
    console.log(`the older server left with ${code}, as the newer one sees it: ${states}`);
  } finally {
    execFileSync("git", ["-C", root, "worktree", "remove", "--force", before], { stdio: "ignore" });
  }
}

await (values.beside === undefined ? measureCost() : runBeside(values.beside));
