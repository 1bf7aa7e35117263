/** The connection to the server: the worker routes of one endpoint over connections that stay open. */
import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import type { Clock } from "./clock.ts";
import type { Job } from "./handler.ts";
import type { Station } from "./settings.ts";

const require = createRequire(import.meta.url);
/** An import would read everything that the module has, so Node would load `fetch` and WebSockets too: 40 ms of each start. */
const http: typeof import("node:http") = require("node:http");

/** The server holds a take for this long while there is no job. */
const HOLD_MS = 20_000;
/** If an answer takes this much longer than the server may hold it, the connection is dead. */
const SLOWEST_ANSWER_MS = 30_000;
/** Longer bodies are sent in slices, each after the previous one was sent. */
const SLICE_LENGTH = 1024 * 1024;
/** When the worker releases a held request, the server closes the connection at once. This is the limit for one that does not. */
const LET_GO_MS = 2000;

/** The server cannot be reached or cannot answer now. The request should be retried. */
class Unreachable extends Error {}

/**
 * A connection that had carried an earlier request turned out to be closed. A request without a body is sent again at once on another one.
 * One with reports is the caller's to repeat, since there may be newer ones by then.
 */
class Reset extends Unreachable {}

interface Answer {
  status: number;
  text: string;
}

interface Pending {
  request: ClientRequest;
  /** When the request counts as overdue. */
  overdueAt: number;
  held: boolean;
}

export class Link {
  readonly #url: URL;
  readonly #worker: string;
  readonly #authorization: string;
  readonly #clock: Clock;
  readonly #transport: typeof http;
  readonly #agent: Agent;
  readonly #pending = new Set<Pending>();
  #released = false;
  #closed = false;

  constructor({ endpointUrl, worker, key }: Station, clock: Clock) {
    this.#url = new URL(endpointUrl);
    this.#worker = encodeURIComponent(worker);
    this.#authorization = key;
    this.#clock = clock;
    // Most workers run next to their server and would load all of TLS for nothing.
    this.#transport = this.#url.protocol === "https:" ? require("node:https") : http;
    this.#agent = new this.#transport.Agent({ keepAlive: true, scheduling: "lifo" });
  }

  /** Sends the reports in `lines` and takes up to `take` jobs in the same request. With `hold` it waits for the first job. */
  async exchange(lines: string, take: number, hold: boolean): Promise<Job[]> {
    const path = `/job-exchange/${this.#worker}?take=${take}&wait=${hold ? HOLD_MS : 0}`;
    const { status, text } = await this.#ask("POST", path, lines, hold);
    return status === 204 ? [] : readJobs(text);
  }

  /** Sends a result that is too long to share a request with others. The server reads it separately. */
  async done({ id, attempt }: Pick<Job, "id" | "attempt">, result: string): Promise<void> {
    await this.#ask("POST", `/job-done/${this.#worker}/${id}?isStream=false&attempt=${attempt}`, result);
  }

  /** The attempt and number let the server recognize a chunk that was sent again after its answer was lost. */
  async stream({ id, attempt }: Job, sequence: number, chunk: string): Promise<void> {
    await this.#ask("POST", `/job-stream/${this.#worker}/${id}?attempt=${attempt}&sequence=${sequence}`, chunk);
  }

  /** Returns the ids of jobs that must stop. The server holds the request until there is one. */
  async stops(): Promise<string[]> {
    const { status, text } = await this.#ask("GET", `/job-stop/${this.#worker}?`, undefined, true);
    return status === 204 ? [] : (JSON.parse(text) as { jobsToStop: string[] }).jobsToStop;
  }

  async ping(busyWith: readonly string[]): Promise<void> {
    const list = busyWith.length > 0 ? `job_id=${busyWith.join(",")}` : "";
    await this.#ask("GET", `/ping/${this.#worker}?${list}`);
  }

  async unfit(check: string, reason: string): Promise<void> {
    const query = new URLSearchParams({ status: "unhealthy", check, reason: reason.slice(0, 256) });
    await this.#ask("GET", `/ping/${this.#worker}?${query}`);
  }

  /**
   * Releases held requests without losing a job on its way. The worker closes only its direction of the connection, and the server closes
   * the other after what it had already sent.
   */
  release(): void {
    this.#released = true;
    for (const { request, held } of this.#pending) if (held) this.#letGo(request);
  }

  /** Called regularly: ends requests to a server that disappeared silently. */
  endOverdue(): void {
    const now = this.#clock.monotonic();
    for (const { request, overdueAt } of this.#pending)
      if (overdueAt <= now) request.destroy(new Unreachable("no answer from the server"));
  }

  close(): void {
    this.#closed = true;
    this.#agent.destroy();
  }

  async #ask(method: string, path: string, body?: string, held = false): Promise<Answer> {
    for (;;) {
      try {
        return await this.#askOnce(method, path, body, held);
      } catch (error) {
        if (!(error instanceof Reset) || body || this.#closed || (held && this.#released)) throw error;
      }
    }
  }

  #askOnce(method: string, path: string, body: string | undefined, held: boolean): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { authorization: this.#authorization };
      if (body !== undefined) headers["content-length"] = Buffer.byteLength(body);
      const request = this.#transport.request({
        agent: this.#agent,
        host: this.#url.hostname.replace(/^\[|\]$/g, ""),
        port: this.#url.port || undefined,
        method,
        path: this.#url.pathname + path,
        headers,
      });
      const overdueAt = this.#clock.monotonic() + SLOWEST_ANSWER_MS + (held ? HOLD_MS : 0);
      const pending: Pending = { request, overdueAt, held };
      this.#pending.add(pending);
      request.once("close", () => this.#pending.delete(pending));
      request.once("error", (error) =>
        reject(new (wasKept(request, error) ? Reset : Unreachable)(error.message, { cause: error })),
      );
      request.once("response", (response) => readAnswer(response, resolve, reject));
      if (body === undefined || body.length <= SLICE_LENGTH) request.end(body);
      else this.#sendInSlices(body, pending);
      if (held && this.#released) this.#letGo(request);
    });
  }

  /** A body that takes minutes is not overdue while it makes progress. */
  #sendInSlices(body: string, pending: Pending): void {
    const bytes = Buffer.from(body);
    const slices = function* (this: Link) {
      for (let at = 0; at < bytes.length; at += SLICE_LENGTH) {
        pending.overdueAt = this.#clock.monotonic() + SLOWEST_ANSWER_MS;
        yield bytes.subarray(at, at + SLICE_LENGTH);
      }
    };
    Readable.from(slices.call(this)).pipe(pending.request);
  }

  #letGo(request: ClientRequest): void {
    const late = this.#clock.after(LET_GO_MS, () => request.destroy());
    request.once("close", () => late.cancel());
    if (request.socket && !request.socket.connecting) request.socket.end();
    else request.once("socket", (socket) => socket.destroy());
  }
}

const wasKept = ({ reusedSocket }: ClientRequest, { code }: NodeJS.ErrnoException) =>
  reusedSocket && (code === "ECONNRESET" || code === "EPIPE");

function readAnswer(
  response: IncomingMessage,
  resolve: (answer: Answer) => void,
  reject: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.once("error", (error) => reject(new Unreachable(error.message, { cause: error })));
  response.once("end", () => {
    const status = response.statusCode!;
    const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString();
    if (status >= 200 && status < 300) resolve({ status, text });
    else reject(new Unreachable(`the server answered ${status}: ${text.slice(0, 200)}`));
  });
}

function readJobs(text: string): Job[] {
  const jobs: Job[] = [];
  for (const line of text.split("\n")) if (line !== "") jobs.push(JSON.parse(line) as Job);
  return jobs;
}
