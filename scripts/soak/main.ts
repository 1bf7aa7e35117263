/** Uses one server for hours and measures it every minute, to see that what should be flat is: `npm run soak -- --hours 2`, as root. */
import { appendFileSync, readFileSync } from "node:fs";
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { stay, timestamp } from "../../platform/src/kernel/clock.ts";
import { realRandom, SeededRandom } from "../../platform/src/kernel/random.ts";
import { DEBUGGABLE, Debugger } from "../../platform/tests/hostile/requests/memory.ts";
import { ownerKey, root, startServer, temporaryFolder } from "../../platform/tests/process.ts";
import { callAtRate, jobsEndpoint, passTime, Tally, type Used } from "./callers.ts";
import { type Ask, JobLedger } from "./ledger.ts";
import { MEASURES, measure, type Values } from "./measures.ts";
import { trendOf } from "./trend.ts";

const { values } = parseArgs({
  options: {
    hours: { type: "string", default: "2" },
    rate: { type: "string", default: "30" },
    seed: { type: "string" },
    /** Where the samples are written; by default below bench/results. */
    out: { type: "string" },
    /** Shows the verdict on the samples in this file, also while they are being taken. */
    read: { type: "string" },
  },
});
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
const hours = Number(values.hours);
/** The queue is full after 35 minutes, as results are kept for 30, and the 10,000 events for readers who come back after 50. A shorter soak leaves out its first half. */
const WARM_HOURS = 65 / 60;
const CLOSING_MS = 5 * MINUTE_MS;

interface Sample {
  hours: number;
  values: Values;
}

const number = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1));

/** One line for each measure, and whether all that should be flat is. */
function verdict(samples: readonly Sample[]): { lines: string[]; isFlat: boolean } {
  const last = samples.at(-1)?.hours ?? 0;
  const warm = Math.min(WARM_HOURS, last / 2);
  let isFlat = true;
  const lines = Object.entries(MEASURES).map(([key, measure]) => {
    const { name, unit, tolerance } = measure;
    const points = samples
      .filter(({ hours }) => hours >= warm)
      .map(({ hours, values }) => ({ hours, value: values[key as keyof Values] }));
    const trend = trendOf(points, tolerance);
    if (!trend) return `${name}: too few samples`;
    const span = `${number(trend.from)} to ${number(trend.to)} ${unit}`.trim();
    if (!trend.grows) return `${name}: flat (${span}, ${number(trend.perHour)} an hour)`;
    const growth = `grows by ${number(trend.perHour)} ${unit} an hour (${span})`;
    if ("meant" in measure) return `${name}: ${growth}, as it is meant to: ${measure.meant}`;
    isFlat = false;
    return `${name}: ${growth.toUpperCase()}`;
  });
  const from = `of ${samples.length} samples over ${number(last)} h, those after ${number(warm * 60)} minutes`;
  return { lines: [from, ...lines], isFlat };
}

async function makeEndpoints(ask: Ask, apps: string, streaming: string): Promise<Used["endpoints"]> {
  const make = async (body: object) => {
    const { status, json, text } = await ask("POST", "/v2/serverless", body);
    if (status !== 201) throw new Error(`an endpoint was not made: ${status} ${text}`);
    return json.id as string;
  };
  const steady = { workers: { min: 2, max: 2 } };
  const scaling = { type: "REQUEST_COUNT", requestCount: 100 };
  return {
    jobs: await make(jobsEndpoint(apps, "jobs", { workers: { min: 3, max: 3 } })),
    stream: await make(jobsEndpoint(streaming, "stream", { cmd: ["node", "worker.ts"], ...steady })),
    app: await make(
      jobsEndpoint(apps, "app", { type: "LOAD_BALANCER", scaling, cmd: ["node", "small-app.mjs"], ...steady }),
    ),
    rare: await make(jobsEndpoint(apps, "rare", { workers: { min: 0, max: 1, idleTimeout: 5 } })),
  };
}

async function layOut(folder: string) {
  const apps = join(folder, "apps");
  await mkdir(apps);
  for (const file of ["small-worker.mjs", "small-app.mjs"])
    await cp(join(root, "platform/tests/fixtures", file), join(apps, file));
  await writeFile(join(apps, "chatter.mjs"), `setInterval(() => console.log("a line", new Date()), 200);\n`);
  // Programs run as other users and must be able to read these folders.
  for (const path of [folder, apps]) await chmod(path, 0o755);
  return { apps, streaming: join(root, "examples/streaming"), data: join(folder, "data") };
}

/** Takes a sample every minute until it is over. */
async function sampleOn(take: () => Promise<Values>, file: string, began: number, isOver: () => boolean) {
  const samples: Sample[] = [];
  for (let minute = 1; !isOver(); minute++) {
    await stay(Math.max(0, began + minute * MINUTE_MS - performance.now()));
    const sample = { hours: (performance.now() - began) / HOUR_MS, values: await take() };
    samples.push(sample);
    appendFileSync(file, `${JSON.stringify(sample)}\n`);
    const shown = Object.entries(sample.values).map(([key, value]) => `${key} ${number(value)}`);
    console.log(`minute ${minute}: ${shown.join(", ")}`);
  }
  return samples;
}

async function soak(file: string): Promise<boolean> {
  const seed = Number(values.seed ?? Buffer.from(realRandom.bytes(4)).readUInt32LE());
  console.log(`${hours} h at ${values.rate} calls a second, --seed ${seed}, samples in ${file}`);
  await using folder = await temporaryFolder();
  const { apps, streaming, data } = await layOut(folder.path);
  const env = { MILLRACE_COMPUTE: "host", MILLRACE_RATE_LIMITS: "off", MILLRACE_LOG_LEVEL: "warn", ...DEBUGGABLE };
  await using server = await startServer(data, { env });
  using inside = await Debugger.open(server);
  const key = await ownerKey(data);
  const ask: Ask = (method, path, body) => server.call(method, path, { key, body });
  const endpoints = await makeEndpoints(ask, apps, streaming);
  for (const id of [endpoints.jobs, endpoints.stream]) await ask("POST", `/v2/${id}/runsync`, { input: { text: "a" } });

  const began = performance.now();
  const isOver = () => server.process.exitCode !== null || performance.now() > began + hours * HOUR_MS;
  const ledger = new JobLedger(ask);
  const [tally, chance] = [new Tally(), new SeededRandom(seed)];
  const used: Used = { server, key, apps, ask, ledger, chance, isOver, endpoints, tally };
  const sampling = sampleOn(() => measure(server.process.pid!, data, inside), file, began, isOver);
  await Promise.all([callAtRate(used, Number(values.rate)), passTime(used), ledger.keep(isOver)]);
  const samples = await sampling;
  await ledger.close(CLOSING_MS);
  const isWell = report(samples, ledger, tally, server.log());
  // A server waits at its end for a debugger to leave.
  inside[Symbol.dispose]();
  await server.end("SIGTERM");
  return isWell;
}

function report(samples: Sample[], ledger: JobLedger, { done, failed, leftOut }: Tally, log: string): boolean {
  console.log(`\ncalls and walks: ${JSON.stringify(done)}, ${leftOut} left out since too many were under way`);
  console.log(`failed: ${JSON.stringify(failed)}`);
  const { acknowledged, ended, lookedAtAgain, ends, wrong, unended } = ledger;
  console.log(
    `ledger: ${acknowledged} jobs acknowledged, ${ended} ends ${JSON.stringify(ends)}, ${unended} without an end, ` +
      `${lookedAtAgain} looked at again later, ${wrong.length} wrong`,
  );
  for (const what of wrong.slice(0, 20)) console.log(`  ${what}`);
  const errors = log.split("\n").filter((line) => line.includes('"level":50'));
  console.log(`${errors.length} errors in the server's log${errors.slice(0, 5).map((line) => `\n  ${line}`)}`);
  const { lines, isFlat } = verdict(samples);
  console.log(lines.join("\n"));
  return isFlat && wrong.length === 0 && Object.keys(failed).length === 0;
}

if (values.read) {
  const lines = readFileSync(values.read, "utf8").split("\n").filter(Boolean);
  console.log(verdict(lines.map((line) => JSON.parse(line) as Sample)).lines.join("\n"));
} else {
  const results = join(root, "bench/results");
  await mkdir(results, { recursive: true });
  const file = values.out ?? join(results, `soak-${timestamp(Date.now()).replaceAll(":", "-")}.jsonl`);
  const isWell = await soak(file);
  console.log(isWell ? "\nwell" : "\nNOT WELL");
  process.exit(isWell ? 0 : 1);
}
