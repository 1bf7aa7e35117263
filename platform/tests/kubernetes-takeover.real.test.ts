/** Two servers hold one Kubernetes cluster in turn: when the first is killed under load, nothing is lost and nothing runs twice. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, expect, test } from "vitest";
import { stay } from "../src/kernel/clock.ts";
import { apiKeyText } from "../src/kernel/ids.ts";
import { realRandom } from "../src/kernel/random.ts";
import { freshDatabase } from "./database.ts";
import { clearCluster, settings } from "./kubernetes-server.ts";
import { MACHINE } from "./kubernetes-world.ts";
import { type Server, startServer, temporaryFolder } from "./process.ts";
import { KUBERNETES_IMAGE } from "./real-kubernetes.ts";

const JOBS = 400;
const key = apiKeyText(realRandom);

/** Takes a job, tells the ledger, works for as long as the job says, and reports until a server has the result. */
const PROGRAM = `
  const { env } = process;
  const headers = { authorization: env.RUNPOD_AI_API_KEY };
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const patiently = async (...asked) => {
    for (;;) {
      const answer = await fetch(...asked).catch(() => undefined);
      if (answer?.ok) return answer;
      await pause(100);
    }
  };
  process.on("SIGTERM", () => process.exit(0));
  let current = "";
  setInterval(() => fetch(env.RUNPOD_WEBHOOK_PING + "&job_id=" + current, { headers }).catch(() => {}), 1000);
  for (;;) {
    const answer = await patiently(env.RUNPOD_WEBHOOK_GET_JOB, { headers });
    if (answer.status !== 200) continue;
    const job = await answer.json();
    current = job.id;
    await patiently(env.LEDGER + "/" + job.id);
    await pause(job.input.ms);
    const body = JSON.stringify({ output: job.input.n });
    await patiently(env.RUNPOD_WEBHOOK_POST_OUTPUT.replace("$ID", job.id), { method: "POST", headers, body });
    current = "";
  }`;

afterAll(clearCluster);

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  await once(server.listen(0, MACHINE), "listening");
  return (server.address() as AddressInfo).port;
}

/** What a load balancer is in front of servers: each connection goes to the first of them that takes it. */
function balancer(ports: readonly string[]) {
  let turn = 0;
  return createServer((client) => {
    const order = ports.map((_, n) => ports[(n + turn) % ports.length]!);
    turn++;
    client.on("error", () => {});
    void tryAll(client, order);
  });
}

async function tryAll(client: Socket, [port, ...others]: string[]): Promise<void> {
  if (port === undefined) return void client.destroy();
  const server = connect(Number(port), MACHINE);
  try {
    await once(server, "connect");
  } catch {
    return tryAll(client, others);
  }
  server.on("error", () => client.destroy()).on("close", () => client.destroy());
  client.on("close", () => server.destroy());
  client.pipe(server).pipe(client);
}

test("the server that holds the cluster is killed under load: another goes on, and each job runs once", async ({
  onTestFailed,
}) => {
  await using database = await freshDatabase();
  const [first, second] = [await settings(), await settings()];
  const ledger: string[] = [];
  const book = createHttpServer(({ url }, response) => {
    ledger.push(url!.slice(1));
    response.end();
  });
  const door = balancer([first.port, second.port]);
  const [bookPort, doorPort] = [await listening(book), await listening(door)];
  const env = {
    ...first.env,
    MILLRACE_WORKER_URL: `http://${MACHINE}:${doorPort}`,
    MILLRACE_REACHABLE: `${MACHINE}/32`,
    MILLRACE_API_KEY: key,
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
    MILLRACE_DATABASE_URL: database.url,
  };
  await using one = await temporaryFolder();
  await using two = await temporaryFolder();
  await using a = await startServer(one.path, { args: ["--port", first.port], env });
  await using b = await startServer(two.path, { args: ["--port", second.port], env });
  onTestFailed(() => console.log(b.log()));
  const endpoint = await makeEndpoint(a, { LEDGER: `http://${MACHINE}:${bookPort}` });
  const submit = async (server: Server, n: number) =>
    (await server.call("POST", `/v2/${endpoint}/run`, { key, body: { input: { n, ms: 100 + (n % 7) * 100 } } })).json
      .id;
  const ids: string[] = [];
  for (let n = 0; n < JOBS / 2; n++) ids.push(await submit(n % 2 ? a : b, n));
  while (ledger.length < 60) await stay(20);
  const killedAt = performance.now();
  await a.end("SIGKILL");
  const before = ledger.length;
  for (let n = JOBS / 2; n < JOBS; n++) ids.push(await submit(b, n));
  const counts = async () => (await b.call("GET", `/v2/${endpoint}/health`, { key })).json.jobs;
  for (let now = await counts(); now.completed + now.failed < JOBS; now = await counts()) await stay(200);
  console.log(
    `${before} jobs had begun at the kill; all ${JOBS} had ended ${Math.round(performance.now() - killedAt)} ms later`,
  );
  expect(await counts()).toMatchObject({ completed: JOBS, failed: 0, inQueue: 0, inProgress: 0, retried: 0 });
  expect(ledger.toSorted()).toEqual(ids.toSorted());
  // The cluster has another holder: it starts new workers, and ends those of an endpoint that is deleted.
  await b.call("DELETE", `/v2/serverless/${endpoint}`, { key });
  await b.end("SIGTERM");
  for (const server of [book, door]) server.close();
});

async function makeEndpoint(server: Server, env: Record<string, string>): Promise<string> {
  const body = {
    name: "ledger",
    image: KUBERNETES_IMAGE,
    cmd: ["--input-type=module", "--eval", PROGRAM],
    cpu: [{ id: "cpu3c", vcpuCount: 2 }],
    workers: { min: 2, max: 4 },
    env,
  };
  const { status, json, text } = await server.call("POST", "/v2/serverless", { key, body });
  if (status !== 201) throw new Error(text);
  return json.id;
}
