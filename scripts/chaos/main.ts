/** Three nodes on one PostgreSQL with a replica, and troubles drawn from a seed: `npm run chaos -- --minutes 60 --seed 7`, as root. */
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { stay } from "../../platform/src/kernel/clock.ts";
import { apiKeyText, resourceId } from "../../platform/src/kernel/ids.ts";
import { realRandom, SeededRandom } from "../../platform/src/kernel/random.ts";
import { root, temporaryFolder } from "../../platform/tests/process.ts";
import { billsOf, dutiesWrong, instancesLeft, podsWrong, remainsWrong, secretsWrong, webhooksWrong } from "./audit.ts";
import { Crowd, WEBHOOK_HOST } from "./crowd.ts";
import { ChaosNode, movesClocks } from "./node.ts";
import { PostgresPair } from "./postgres-pair.ts";
import { SmallDisk } from "./small-disk.ts";
import { databaseTroubles, drawTrouble, nodeTroubles, type Scene, type Trouble } from "./trouble.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    seed: { type: "string" },
    /** Only troubles whose names contain this text. */
    only: { type: "string", default: "" },
    jobs: { type: "string", default: "6" },
    /** A folder for the nodes' logs and the database's records, if something is wrong. */
    evidence: { type: "string" },
  },
});
const seed = Number(values.seed ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
const MINUTE_MS = 60_000;
const NODES = 3;
const DATABASE_GB = 4;
const CLOSING_MS = 5 * MINUTE_MS;
const CPU = { id: "cpu3c", vcpuCount: 2 };

const began = performance.now();
const say = (what: string) => console.log(`${((performance.now() - began) / 1000).toFixed(1)} s: ${what}`);

/** Programs with names of their own, so that their processes are found. */
async function layOut(folder: string) {
  const [apps, mark] = [join(folder, "apps"), resourceId(realRandom)];
  await mkdir(apps);
  const programs = { worker: `worker-${mark}.mjs`, app: `app-${mark}.mjs`, pod: `pod-${mark}.mjs` };
  await cp(join(root, "platform/tests/fixtures/small-worker.mjs"), join(apps, programs.worker));
  await cp(join(root, "platform/tests/fixtures/small-app.mjs"), join(apps, programs.app));
  await writeFile(join(apps, programs.pod), `setInterval(() => console.log("here"), 1000);\n`);
  // Programs run as other users and must be able to read these folders.
  for (const path of [folder, apps]) await chmod(path, 0o755);
  return { apps, programs };
}

const bodies = (apps: string, programs: Record<"worker" | "app" | "pod", string>) => {
  const jobs = { image: `host:${apps}`, cmd: ["node", programs.worker], cpu: [CPU] };
  const scaling = { type: "REQUEST_COUNT", requestCount: 100 };
  return {
    jobs: { name: "jobs", ...jobs, workers: { min: 2, max: 4, idleTimeout: 5 } },
    rare: { name: "rare", ...jobs, workers: { min: 0, max: 1, idleTimeout: 3 } },
    app: {
      ...jobs,
      name: "app",
      type: "LOAD_BALANCER",
      scaling,
      cmd: ["node", programs.app],
      workers: { min: 1, max: 2 },
    },
    pod: { name: "box", image: `host:${apps}`, cmd: ["node", programs.pod], gpu: { id: "NVIDIA A40" }, disk: 5 },
  };
};

/** Brings one trouble after the other. A node has one at a time. */
async function bringTroubles(scene: Scene, troubles: readonly Trouble[], busy: Set<ChaosNode>, isOver: () => boolean) {
  const { chance, nodes } = scene;
  // While the database is away nothing else happens, so it has longer pauses.
  const pauseMs = troubles.some(([, name]) => name.startsWith("node")) ? 10_000 : 40_000;
  while (!isOver()) {
    const [, name, bring] = drawTrouble(chance, troubles);
    const free = nodes.filter((node) => !busy.has(node));
    const node = free[chance.below(free.length)]!;
    const isOfNode = troubles === nodeTroubles || nodeTroubles.some(([, other]) => other === name);
    if (isOfNode) busy.add(node);
    say(`${name}${isOfNode ? `: ${node.name}` : ""}`);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    await bring(scene, node);
    if (isOfNode) await node.start();
    say(`over: ${name}${isOfNode ? `: ${node.name}` : ""}`);
    // Another trouble may have begun on a node that this one only drew.
    if (isOfNode) busy.delete(node);
    await stay(1_000 + chance.below(pauseMs));
  }
}

const counts = new Map<string, number>();
const wrong: string[] = [];

async function chaos(): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const { apps, programs } = await layOut(folder.path);
  const databaseDisk = opened.use(await SmallDisk.make(join(folder.path, "postgres"), DATABASE_GB));
  await chmod(databaseDisk.folder, 0o777);
  const databaseFolder = join(databaseDisk.folder, "postgres");
  await mkdir(databaseFolder);
  const database = opened.use(await PostgresPair.open(databaseFolder));
  const key = apiKeyText(realRandom);
  const env = {
    ...{ MILLRACE_API_KEY: key, MILLRACE_COMPUTE: "host", MILLRACE_RATE_LIMITS: "off", MILLRACE_LOG_LEVEL: "warn" },
    ...{ MILLRACE_REACHABLE: `${WEBHOOK_HOST}/32`, MILLRACE_SSH_PORT: "off" },
    MILLRACE_MASTER_KEY: Buffer.from(realRandom.bytes(32)).toString("base64"),
  };
  const nodes: ChaosNode[] = [];
  for (let number = 1; number <= NODES; number++) {
    const node = opened.use(await ChaosNode.make(`node-${number}`, folder.path, database.url, env));
    await node.start();
    nodes.push(node);
  }
  say(`three nodes run, clocks ${movesClocks ? "move" : "do not move, for want of libfaketime"}`);

  let over = false;
  const chance = new SeededRandom(seed);
  const crowd = opened.use(
    new Crowd({ urls: nodes.map(({ url }) => url), key, chance: new SeededRandom(seed + 1), isOver: () => over }),
  );
  await crowd.open();
  const body = bodies(apps, programs);
  const make = async (endpoint: object) => (await crowd.askOn("POST", "/v2/serverless", endpoint)).json.id as string;
  const endpoints = { jobs: await make(body.jobs), rare: await make(body.rare), app: await make(body.app) };
  const load = [
    crowd.submit(endpoints.jobs, 1000 / Number(values.jobs)),
    crowd.submit(endpoints.rare, 12_000),
    crowd.useApplication(endpoints.app, 1_000),
    crowd.writeSecrets(),
    crowd.keepPods(body.pod, 4),
    crowd.ledger.keep(() => over),
  ];
  const note = (what: string) => {
    wrong.push(what);
    say(`WRONG: ${what}`);
  };
  const scene: Scene = { nodes, database, databaseDisk, chance, programs: Object.values(programs), note };
  const until = performance.now() + Number(values.minutes) * MINUTE_MS;
  const isOver = () => performance.now() > until;
  const chosen = (troubles: Trouble[]) => troubles.filter(([weight, name]) => weight > 0 && name.includes(values.only));
  const busy = new Set<ChaosNode>();
  await Promise.all(
    [nodeTroubles, nodeTroubles, databaseTroubles]
      .map(chosen)
      .filter(({ length }) => length > 0)
      .map((troubles) => bringTroubles(scene, troubles, busy, isOver)),
  );
  over = true;
  say("no more troubles");
  await Promise.all(load);
  await audit(crowd, scene, Object.values(endpoints));
}

async function audit(crowd: Crowd, { nodes, database, programs }: Scene, endpoints: readonly string[]): Promise<void> {
  const { ledger } = crowd;
  await ledger.close(CLOSING_MS);
  say("every job was looked at");
  const found = await crowd.findPods();
  wrong.push(...ledger.wrong, ...crowd.wrong, ...webhooksWrong(crowd));
  wrong.push(
    ...(await podsWrong(crowd)),
    ...(await secretsWrong(crowd)),
    ...(await dutiesWrong(
      crowd,
      nodes.map(({ url }) => url),
    )),
  );
  const [pods, secrets] = [crowd.pods.size + crowd.removedPods.length, crowd.secrets.size];
  for (const pod of [...crowd.pods.values()]) await crowd.removePod(pod);
  for (const id of endpoints) await crowd.askOn("DELETE", `/v2/serverless/${id}`);
  wrong.push(...(await instancesLeft(crowd)));
  say("Pods and endpoints are deleted");
  for (const node of nodes) {
    const code = await node.end("SIGTERM");
    if (code !== 0) wrong.push(`${node.name} ended with ${code}`);
  }
  const bills = await billsOf(database.url);
  wrong.push(...bills.wrong, ...remainsWrong(nodes, programs));
  if (values.evidence && wrong.length > 0) await keepEvidence(values.evidence, nodes, database);
  const errors = Map.groupBy(nodes.flatMap(errorsOf), (said) => said);
  console.log(`\nseed ${seed}, ${values.minutes} minutes of troubles`);
  for (const [name, times] of counts) console.log(`  ${String(times).padStart(4)} × ${name}`);
  console.log(`answers: ${JSON.stringify(crowd.answers)}`);
  console.log(
    `jobs: ${ledger.acknowledged} acknowledged, ends ${JSON.stringify(ledger.ends)}, ${crowd.told.size} told by webhook`,
  );
  console.log(
    `${pods} Pods, ${found} of them made without an answer, ${secrets} secrets, ${bills.lines} bills of ${bills.spans} spans, ${bills.free} of them free; ` +
      `${bills.unbilled} times of Pods not billed, ${(bills.unbilledMs / 1000).toFixed(0)} s in all: silent machine or dead program`,
  );
  console.log("errors in the logs of nodes:");
  for (const [said, times] of [...errors].toSorted((a, b) => b[1].length - a[1].length).slice(0, 30))
    console.log(`  ${String(times.length).padStart(4)} × ${said}`);
  console.log(wrong.length === 0 ? "nothing is wrong" : `${wrong.length} WRONG:`);
  for (const what of wrong.slice(0, 100)) console.log(`  ${what}`);
}

async function keepEvidence(folder: string, nodes: readonly ChaosNode[], database: PostgresPair): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "wrong.txt"), wrong.join("\n"));
  for (const node of nodes) await writeFile(join(folder, `${node.name}.log`), node.log());
  for (const table of ["records", "jobs", "leases"])
    await writeFile(join(folder, `${table}.jsonl`), (await database.rowsOf(table)).join("\n"));
}

/** The errors that a node logged, without what differs from one to the next. */
function errorsOf(node: ChaosNode): string[] {
  return node
    .log()
    .split("\n")
    .filter((line) => line.includes('"level":50') || !line.startsWith("{"))
    .map((line) => {
      if (!line.startsWith("{")) return line.slice(0, 160);
      const { msg, message, duty, err } = JSON.parse(line);
      return `${msg ?? message} ${duty ?? ""} ${String(err?.message ?? "").slice(0, 120)}`;
    })
    .filter((said) => said.trim() !== "");
}

console.log(`chaos for ${values.minutes} minutes, --seed ${seed}`);
await chaos();
process.exit(wrong.length === 0 ? 0 : 1);
