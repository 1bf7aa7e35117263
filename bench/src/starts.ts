/** How long a job waits for its handler: with a worker that waits for it, with one that is frozen, and with none. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as stay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Histogram } from "./histogram.ts";
import { startMillrace } from "./millrace.ts";
import type { Line } from "./table.ts";

type Kind = "warm" | "frozen" | "cold";

export interface Waits {
  p50: number;
  p99: number;
  max: number;
  all: number[];
}

export interface StartsResult {
  /** From the sending of the request to the first line of the handler. */
  waits: Partial<Record<Kind, Waits>>;
  /** A bare start of the same program, up to the line at which it would ask for work. */
  processStart: Waits;
}

const KINDS: { kind: Kind; name: string; endpoint: object; jobs: number }[] = [
  { kind: "warm", name: "a worker that waits", endpoint: { workers: { max: 1, idleTimeout: 3600 } }, jobs: 300 },
  {
    kind: "frozen",
    name: "a frozen worker",
    endpoint: { workers: { max: 1, idleTimeout: 1 }, flashboot: "FLASHBOOT" },
    jobs: 30,
  },
  { kind: "cold", name: "no worker", endpoint: { workers: { max: 1, idleTimeout: 1 } }, jobs: 20 },
];
const PROCESS_STARTS = 20;
const AIM_MS = { warm: 3, frozen: 15, beyondProcessStart: 60 };
/** How long a worker may take to stand still or end, once it is idle. */
const REST_LIMIT_MS = 30_000;
const LOOK_MS = 50;
/** Jobs come at no particular moment of the server's second. */
const LONGEST_PAUSE_MS = 500;

const WORKER = `import { start } from "millrace-worker";
let begun = 0;
start({ handler: () => ({ at: performance.timeOrigin + performance.now(), begun: ++begun }) });
`;

export async function measureStarts({
  folder,
  quick,
  say,
}: {
  folder: string;
  quick: boolean;
  say: (line: string) => void;
}): Promise<StartsResult> {
  const app = await mkdtemp(join(folder, "starts-"));
  // Not in the programs' folder: none may see the server's data.
  const data = await mkdtemp(join(folder, "starts-data-"));
  try {
    await writeFile(join(app, "worker.mjs"), WORKER, { mode: 0o644 });
    // Programs run as users of their own, and must find the folder.
    await chmod(app, 0o755);
    const processStart = await processStarts(quick ? 3 : PROCESS_STARTS);
    await using running = await startMillrace(data, { compute: "host" });
    const server = new Server(running.submit.port, running.submit.headers, app);
    const waits: StartsResult["waits"] = {};
    for (const { kind, name, endpoint, jobs } of KINDS) {
      const measured = await server.measure(kind, endpoint, quick ? Math.ceil(jobs / 10) : jobs);
      if (measured) waits[kind] = measured;
      else say(`starts: this machine cannot freeze workers`);
      if (measured) say(`  submit to handler, ${name}: ${shown(measured)}`);
    }
    say(`  start of a process with the worker library: ${shown(processStart)}`);
    return { waits, processStart };
  } finally {
    for (const path of [app, data]) await rm(path, { recursive: true, force: true });
  }
}

class Server {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #app: string;

  constructor(port: number, headers: Record<string, string>, app: string) {
    this.#url = `http://127.0.0.1:${port}`;
    this.#headers = headers;
    this.#app = app;
  }

  /** Undefined where idle workers end although they should stand still. */
  async measure(kind: Kind, endpoint: object, jobs: number): Promise<Waits | undefined> {
    const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
    const body = { name: kind, image: `host:${this.#app}`, cmd: ["node", "worker.mjs"], cpu, ...endpoint };
    const { id } = await this.#call<{ id: string }>("POST", "/v2/serverless", body);
    // What is done only once for a server is not part of a start.
    let before = await this.#run(id);
    const waits: number[] = [];
    for (let job = 0; job < jobs; job++) {
      if (!(await this.#rested(id, kind))) return undefined;
      if (kind !== "warm") await stay(Math.random() * LONGEST_PAUSE_MS);
      const ran = await this.#run(id);
      const expected = kind === "cold" ? 1 : before.begun + 1;
      if (ran.begun !== expected) throw new Error(`job ${ran.begun} of its process ran where ${expected} was expected`);
      waits.push(ran.waitMs);
      before = ran;
    }
    await this.#call("DELETE", `/v2/serverless/${id}`);
    return summary(waits);
  }

  async #run(endpoint: string): Promise<{ waitMs: number; begun: number }> {
    const sentAt = now();
    const { status, output } = await this.#call<{ status: string; output: { at: number; begun: number } }>(
      "POST",
      `/v2/${endpoint}/runsync?wait=60000`,
      { input: {} },
    );
    if (status !== "COMPLETED") throw new Error(`a job ended ${status}`);
    return { waitMs: output.at - sentAt, begun: output.begun };
  }

  async #rested(endpoint: string, kind: Kind): Promise<boolean> {
    if (kind === "warm") return true;
    for (const untilMs = now() + REST_LIMIT_MS; now() < untilMs; await stay(LOOK_MS)) {
      const { workers } = await this.#call<{ workers: { frozen?: boolean }[] }>(
        "GET",
        `/v2/serverless/${endpoint}/workers`,
      );
      if (workers.length === 0) return kind === "cold";
      if (workers.some(({ frozen }) => frozen)) return kind === "frozen";
    }
    throw new Error(`the idle worker is still there after ${REST_LIMIT_MS / 1000} s`);
  }

  async #call<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { ...this.#headers, ...(body && { "content-type": "application/json" }) };
    const response = await fetch(this.#url + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }
}

async function processStarts(count: number): Promise<Waits> {
  const library = fileURLToPath(new URL("../../worker/src/main.ts", import.meta.url));
  const program = `import ${JSON.stringify(library)}; console.log(performance.timeOrigin + performance.now())`;
  const waits: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = now();
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    waits.push(Number(line) - startedAt);
    await once(child, "exit");
  }
  return summary(waits);
}

/** By the clock that all processes of the machine share. */
const now = () => performance.timeOrigin + performance.now();

function summary(waits: number[]): Waits {
  const histogram = new Histogram();
  for (const wait of waits) histogram.record(wait);
  const { p50, p99, max } = histogram.summary();
  return { p50, p99, max, all: waits };
}

const shown = ({ p50, p99, all }: Waits) => `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${all.length} times)`;

export function startLines({ waits, processStart }: StartsResult): Line[] {
  const aims: Record<Kind, number> = {
    warm: AIM_MS.warm,
    frozen: AIM_MS.frozen,
    cold: processStart.p50 + AIM_MS.beyondProcessStart,
  };
  return KINDS.flatMap(({ kind, name }): Line[] => {
    const measured = waits[kind];
    if (!measured) return [];
    const { p50, p99 } = measured;
    return [
      {
        row: "starts",
        name: `submit to handler, ${name}`,
        measured: "",
        wall: `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
        atLeast: "",
        aim: `${aims[kind].toFixed(0)} ms`,
        verdict: p50 <= aims[kind] ? "aim" : "below",
      },
    ];
  });
}
