/** An account that uses the product as anyone would, again and again, and records how long each request took. */
import { once } from "node:events";
import { stay } from "../../src/kernel/clock.ts";
import { startChild } from "../child.ts";
import { type Answer, call } from "../world.ts";

const PAUSE_MS = 5;
const LOOK_MS = 50;

/** The durations of each kind of request in milliseconds. */
export type Seen = Map<string, number[]>;

export interface Testimony {
  requests: number;
  /** Describes what went wrong. */
  failures: string[];
  seen: Seen;
}

type Request = () => Promise<string | undefined>;

/** A server that has nothing to do with the product. If it slows down, the machine is the cause. */
const CONTROL = `const server = require("node:http").createServer((request, response) => response.end("ok"));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit()).resume();`;
const CONTROL_KIND = "asks a server of nobody's";

export class Witness implements Disposable {
  readonly #url: string;
  readonly #key: string;
  readonly #control = startChild(process.execPath, ["--eval", CONTROL]);
  #controlUrl = "";
  #queue = "";
  #app = "";

  private constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  [Symbol.dispose](): void {
    this.#control.kill();
  }

  /** Opens a witness with a ready worker of each kind. */
  static async open(url: string, key: string, folder: string): Promise<Witness> {
    const witness = new Witness(url, key);
    const [port] = (await once(witness.#control.stdout, "data")) as [Buffer];
    witness.#controlUrl = `http://127.0.0.1:${port.toString().trim()}`;
    const base = { image: `host:${folder}`, cpu: [{ id: "cpu3c", vcpuCount: 2 }], workers: { min: 1, max: 1 } };
    witness.#queue = await witness.#create({ ...base, name: "jobs", cmd: ["node", "small-worker.mjs"] });
    const scaling = { type: "REQUEST_COUNT", requestCount: 100 };
    const app = { ...base, name: "app", type: "LOAD_BALANCER", scaling, cmd: ["node", "small-app.mjs"] };
    witness.#app = await witness.#create(app);
    for (const request of Object.values(witness.#requests)) await untilWell(request);
    return witness;
  }

  /** Sends requests until the work is over, and at least this many of each kind. */
  async watch(work: Promise<unknown>, least = 100): Promise<Testimony> {
    const seen: Seen = new Map();
    const failures: string[] = [];
    let over = false;
    const settled = work.finally(() => {
      over = true;
    });
    // It is awaited below, and may fail before that.
    settled.catch(() => undefined);
    const asking = Object.entries(this.#requests).map(async ([kind, request]) => {
      const took: number[] = [];
      seen.set(kind, took);
      while (!over || took.length < least) {
        const began = performance.now();
        const failure = await request().catch((error: Error) => `${error.message} ${error.cause ?? ""}`);
        took.push(performance.now() - began);
        if (failure) failures.push(`${kind}: ${failure}`);
        await stay(PAUSE_MS);
      }
    });
    await Promise.all(asking);
    await settled;
    const requests = [...seen.values()].reduce((sum, { length }) => sum + length, 0);
    return { requests, failures, seen };
  }

  readonly #requests: Record<string, Request> = {
    [CONTROL_KIND]: async () => said(await call(this.#controlUrl, "GET", "/", {}), 200),
    "reads an endpoint": async () => said(await this.#call("GET", `/v2/serverless/${this.#queue}`), 200),
    "runs a job": async () => {
      const answer = await this.#call("POST", `/v2/${this.#queue}/runsync`, { input: {} });
      return said(answer, 200) ?? (answer.json.status === "COMPLETED" ? undefined : answer.text);
    },
    "asks its application": async () => said(await this.#call("GET", `/v2/${this.#app}/hello`), 200),
    "changes an endpoint": async () =>
      said(await this.#call("PATCH", `/v2/serverless/${this.#queue}`, { name: `jobs ${performance.now()}` }), 200),
  };

  #call(method: string, path: string, body?: unknown): Promise<Answer> {
    return call(this.#url, method, path, { key: this.#key, body });
  }

  async #create(body: object): Promise<string> {
    const { status, json, text } = await this.#call("POST", "/v2/serverless", body);
    if (status !== 201) throw new Error(`the witness could not begin: ${text}`);
    return json.id;
  }
}

const said = ({ status, text }: Answer, expected: number) =>
  status === expected ? undefined : `${status} ${text.slice(0, 300)}`;

/** A worker that has just started may not listen yet. */
async function untilWell(request: Request, tries = 600): Promise<void> {
  for (;;) {
    const failure = await request();
    if (!failure) return;
    if (--tries === 0) throw new Error(`the witness could not begin: ${failure}`);
    await stay(LOOK_MS);
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

/** The slowest of a hundred requests of a kind took this many times as long as without an attack. */
function growth(kind: string, idle: Testimony, attacked: Testimony): number {
  return percentile(attacked.seen.get(kind)!, 0.99) / percentile(idle.seen.get(kind)!, 0.99);
}

/** The growth of the kind of request that suffered most, relative to how much the machine slowed down the control server meanwhile. */
export function worstRatio(idle: Testimony, attacked: Testimony): { kind: string; ratio: number; p99: number } {
  const machine = Math.max(1, growth(CONTROL_KIND, idle, attacked));
  const ratios = [...attacked.seen.keys()]
    .filter((kind) => kind !== CONTROL_KIND)
    .map((kind) => ({
      kind,
      p99: percentile(attacked.seen.get(kind)!, 0.99),
      ratio: growth(kind, idle, attacked) / machine,
    }));
  return ratios.reduce((worst, one) => (one.ratio > worst.ratio ? one : worst));
}
