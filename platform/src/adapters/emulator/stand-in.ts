/** Programs of the emulator: a worker that returns its input or what the input asks for, and a Pod or balanced worker that answers HTTP. */
import { createServer } from "node:http";
import { floating } from "../../kernel/floating.ts";
import type { FakeInstance } from "../../ports/compute/fake-instance.ts";
import type { Faults } from "./faults.ts";

/** What the input of a job may ask a stand-in for, as the public mock worker takes it. */
interface Wishes {
  mock_return?: unknown;
  /** Seconds of the emulator's time. */
  mock_delay?: number;
  mock_error?: string;
  mock_crash?: boolean;
}

interface Job {
  id: string;
  input: Wishes & Record<string, unknown>;
}

const PING_MS = 10_000;
const AGAIN_MS = 1000;
const STANDARD_EXIT = 1;

/** Speaks the public worker protocol, as any worker does. */
export class StandInWorker {
  readonly #instance: FakeInstance;
  readonly #faults: Faults;
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #ended = new AbortController();
  #job: string | undefined;

  constructor(instance: FakeInstance, faults: Faults) {
    const { env } = instance.spec;
    this.#instance = instance;
    this.#faults = faults;
    this.#base = `${env.RUNPOD_ENDPOINT_BASE_URL}/${env.RUNPOD_ENDPOINT_ID}`;
    this.#headers = { authorization: env.RUNPOD_AI_API_KEY ?? "" };
    floating(
      instance.whenExited.then(() => this.#ended.abort()),
      () => {},
    );
    instance.write("stand-in worker of the emulator\n");
    if (this.#crashes("start")) return;
    this.#soon(() => this.#loop());
    this.#keepPinging();
  }

  /** The server hears of it, so that time which was moved ahead does not make it silent. */
  async ping(): Promise<void> {
    const jobs = this.#job === undefined ? "" : `?job_id=${encodeURIComponent(this.#job)}`;
    await this.#send("GET", `ping/${this.#instance.id}${jobs}`).catch(() => {});
  }

  #keepPinging(): void {
    this.#instance.after(PING_MS, () => {
      floating(this.ping(), () => {});
      this.#keepPinging();
    });
  }

  /** Never while it is frozen, and not after its end. */
  #soon(work: () => Promise<void>, delayMs = 0): void {
    this.#instance.after(delayMs, () => floating(work(), () => this.#soon(() => this.#loop(), AGAIN_MS)));
  }

  async #loop(): Promise<void> {
    const response = await this.#send("GET", `job-take/${this.#instance.id}?gpu=none`);
    const job = response.status === 200 ? ((await response.json()) as Job) : undefined;
    if (job) this.#begin(job);
    else this.#soon(() => this.#loop(), response.ok ? 0 : AGAIN_MS);
  }

  #begin(job: Job): void {
    this.#job = job.id;
    this.#instance.write(`job ${job.id}\n`);
    if (job.input.mock_crash) this.#instance.exit({ code: STANDARD_EXIT });
    else if (!this.#crashes("job")) this.#soon(() => this.#finish(job), (job.input.mock_delay ?? 0) * 1000);
  }

  async #finish({ id, input }: Job): Promise<void> {
    const { mock_error: error, mock_return: output = input } = input;
    const body = JSON.stringify(error === undefined ? { output } : { error });
    await this.#send("POST", `job-done/${this.#instance.id}/${encodeURIComponent(id)}`, body);
    this.#job = undefined;
    this.#soon(() => this.#loop());
  }

  #crashes(at: "start" | "job"): boolean {
    const { owner } = this.#instance.spec;
    const fault = this.#faults.use(
      "worker-crash",
      ({ endpointId = owner, at: when = "job" }) => endpointId === owner && when === at,
    );
    if (!fault) return false;
    this.#instance.write("the emulator was asked for a crash\n");
    this.#instance.exit({ code: fault.exitCode ?? STANDARD_EXIT });
    return true;
  }

  #send(method: string, path: string, body?: string): Promise<Response> {
    const { signal } = this.#ended;
    return fetch(`${this.#base}/${path}`, {
      method,
      headers: this.#headers,
      signal,
      ...(body !== undefined && { body }),
    });
  }
}

/** Answers every request with what was asked: Pods with HTTP ports, and workers of load-balancing endpoints. */
export function listenAsStandIn(instance: FakeInstance, ports: readonly number[]): void {
  const web = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const body = Buffer.concat(parts).toString("utf8");
      response.end(`${JSON.stringify({ standIn: instance.id, method: request.method, path: request.url, body })}\n`);
    });
  });
  // It listens nowhere itself. A connection that breaks is its client's affair.
  web.on("error", () => {});
  for (const port of ports) {
    instance.listen(port, (connection) => {
      web.emit("connection", connection);
    });
  }
}
