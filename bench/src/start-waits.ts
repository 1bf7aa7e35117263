/** How long jobs wait for their handler: with a waiting worker, with a frozen one, and with none. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as stay } from "node:timers/promises";
import { Histogram } from "./histogram.ts";
import type { RunningMillrace } from "./millrace.ts";

export type Kind = "warm" | "frozen" | "cold";

export interface Waits {
  p50: number;
  p99: number;
  max: number;
  all: number[];
}

export interface Starts {
  /** The time from sending the request to the first line of the handler. */
  waits: Partial<Record<Kind, Waits>>;
  /** A bare start of the same program, up to the line at which it would ask for work. */
  bare: Waits;
}

export const KINDS: { kind: Kind; name: string; endpoint: object; jobs: number }[] = [
  { kind: "warm", name: "a worker that waits", endpoint: { workers: { max: 1, idleTimeout: 3600 } }, jobs: 300 },
  {
    kind: "frozen",
    name: "a frozen worker",
    endpoint: { workers: { max: 1, idleTimeout: 1 }, flashboot: "FLASHBOOT" },
    jobs: 30,
  },
  { kind: "cold", name: "no worker", endpoint: { workers: { max: 1, idleTimeout: 1 } }, jobs: 20 },
];
const BARE_STARTS = 20;
/** How long an idle worker may take to freeze or end. */
const REST_LIMIT_MS = 30_000;
const LOOK_MS = 50;
/** Jobs are spread over this time, so that they do not always meet the same moment of the server's tick. */
const LONGEST_PAUSE_MS = 500;

/** A worker's program. `library` is the library's path in the image. */
export const workerProgram = (library: string) => `import { start } from ${JSON.stringify(library)};
let begun = 0;
start({ handler: () => ({ at: performance.timeOrigin + performance.now(), begun: ++begun }) });
`;

/** A program that only loads the library and prints when it has done so. */
export const bareProgram = (library: string) =>
  `import ${JSON.stringify(library)}; console.log(performance.timeOrigin + performance.now())`;

export interface Place {
  /** The name in the table. */
  name: string;
  running: RunningMillrace;
  /** The program that the endpoints run. */
  program: { image: string; cmd: string[] };
  /** The command that starts the bare program. */
  bare: [string, ...string[]];
  quick: boolean;
  say: (line: string) => void;
}

export async function measurePlace({ name: place, running, program, bare, quick, say }: Place): Promise<Starts> {
  const fewer = (count: number) => (quick ? Math.ceil(count / 10) : count);
  const server = new Server(running.submit.port, running.submit.headers, program);
  const starts: Starts = { waits: {}, bare: await bareStarts(fewer(BARE_STARTS), bare) };
  for (const { kind, name, endpoint, jobs } of KINDS) {
    const measured = await server.measure(kind, endpoint, fewer(jobs));
    if (measured) starts.waits[kind] = measured;
    say(
      measured ? `  ${place}: submit to handler, ${name}: ${shown(measured)}` : `  ${place}: no worker can be frozen`,
    );
  }
  say(`  ${place}: bare start of a program with the worker library: ${shown(starts.bare)}`);
  return starts;
}

class Server {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #program: object;

  constructor(port: number, headers: Record<string, string>, program: object) {
    this.#url = `http://127.0.0.1:${port}`;
    this.#headers = headers;
    this.#program = program;
  }

  /** Returns undefined if idle workers end although they should freeze. */
  async measure(kind: Kind, endpoint: object, jobs: number): Promise<Waits | undefined> {
    const cpu = [{ id: "cpu3c", vcpuCount: 2 }];
    const body = { name: kind, ...this.#program, cpu, ...endpoint };
    const { id } = await this.#call<{ id: string }>("POST", "/v2/serverless", body);
    // Work that a server does only once is not part of a start.
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
    const job = await this.#call<{ status: string; output: { at: number; begun: number } }>(
      "POST",
      `/v2/${endpoint}/runsync?wait=60000`,
      { input: {} },
    );
    if (job.status !== "COMPLETED") throw new Error(`a job did not complete: ${JSON.stringify(job)}`);
    return { waitMs: job.output.at - sentAt, begun: job.output.begun };
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

async function bareStarts(count: number, [command, ...args]: [string, ...string[]]): Promise<Waits> {
  const waits: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = now();
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = once(child, "exit");
    const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
    waits.push(Number(line) - startedAt);
    await ended;
  }
  return summary(waits);
}

/** Uses the clock that all processes of the machine share. */
export const now = () => performance.timeOrigin + performance.now();

export function summary(waits: number[]): Waits {
  const histogram = new Histogram();
  for (const wait of waits) histogram.record(wait);
  const { p50, p99, max } = histogram.summary();
  return { p50, p99, max, all: waits };
}

export const shown = ({ p50, p99, all }: Waits) =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${all.length} times)`;
