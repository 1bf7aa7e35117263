/** A client and workers that record every answer, so that a server can be checked against them after a kill. */
import { OMITTED_MS } from "../src/jobs/sessions.ts";
import { stay } from "../src/kernel/clock.ts";
import type { Wire } from "./wire.ts";

/** One job, identified by the number in its input. */
interface Entry {
  /** Known once the submission was answered, or once a worker got the job. */
  id?: string;
  /** Whether the submission was answered. */
  accepted: boolean;
  /** The result that a worker sent. */
  output?: string;
  /** Whether the result was answered. */
  reported: boolean;
}

interface Held {
  id: string;
  number: number;
  attempt: number;
}

/** A worker outlives the servers that it talks to, and keeps its jobs. */
export interface LedgerWorker {
  name: string;
  key: string;
  held: Held[];
  /** Results that were sent but not answered. They are sent again unchanged. */
  unanswered: Held[];
}

const TAKES = 30;
const CHECKS_AT_ONCE = 50;
const RUNNING = ["IN_QUEUE", "IN_PROGRESS"];

export class Ledger {
  acknowledged = 0;
  readonly #entries: Entry[] = [];
  /** Jobs with answers since the last check against the server. */
  #fresh = new Set<number>();
  readonly #inHand = new Set<number>();
  readonly #base: string;
  readonly #key: string;

  constructor(endpoint: string, key: string) {
    this.#base = `/v2/${endpoint}`;
    this.#key = key;
  }

  /** A path under the endpoint, such as `/health`. */
  path(operation: string): string {
    return this.#base + operation;
  }

  get reported(): number {
    return this.#entries.filter(({ reported }) => reported).length;
  }

  async submit(wire: Wire): Promise<void> {
    const number = this.#entries.length;
    const entry: Entry = { accepted: false, reported: false };
    this.#entries.push(entry);
    const { status, text } = await wire.send("POST", `${this.#base}/run`, this.#key, `{"input":{"number":${number}}}`);
    hold(status === 200, "a submission is accepted", { number, status, text });
    const { id } = JSON.parse(text) as { id: string };
    // A worker may have got the job before its submitter got the answer.
    hold((entry.id ?? id) === id, "a submission has one id", { number, id, entry });
    entry.id = id;
    entry.accepted = true;
    this.#answered(number);
  }

  /** Sends the results of all held jobs except `keeps`, and takes more. */
  async work(wire: Wire, worker: LedgerWorker, keeps: number): Promise<void> {
    const done = worker.held.splice(0, Math.max(0, worker.held.length - keeps));
    for (const { number, attempt } of done) {
      const entry = this.#entries[number]!;
      hold(entry.output === undefined, "a job is done once", { number, entry });
      entry.output = `${worker.name}, attempt ${attempt}, number ${number}`;
    }
    worker.unanswered.push(...done);
    const sent = [...worker.unanswered];
    const lines = sent.map(({ id, attempt, number }) => `${id} ${attempt} ${this.#result(number)}`);
    const path = `${this.#base}/job-exchange/${worker.name}?take=${TAKES}&wait=50`;
    const { status, text } = await wire.send("POST", path, worker.key, lines.join("\n"));
    hold(status === 200 || status === 204, "results are taken", { status, text });
    worker.unanswered = [];
    for (const { number } of sent) {
      this.#entries[number]!.reported = true;
      this.#inHand.delete(number);
      this.#answered(number);
    }
    for (const line of text.split("\n").filter(Boolean)) worker.held.push(this.#taken(line));
  }

  /** After a restart, workers report what they are busy with, twice. Jobs that a worker was given but never saw then go to others. */
  async recover(wire: Wire, workers: readonly LedgerWorker[]): Promise<void> {
    for (const worker of workers) await this.#ping(wire, worker);
    await stay(OMITTED_MS);
    for (const worker of workers) await this.#ping(wire, worker);
  }

  async #ping(wire: Wire, { name, key, held, unanswered }: LedgerWorker): Promise<void> {
    const ids = [...held, ...unanswered].map(({ id }) => id);
    const { status, text } = await wire.send("GET", `${this.#base}/ping/${name}?job_id=${ids.join(",")}`, key);
    hold(status === 200, "a ping is taken", { status, text });
  }

  /** Checks that everything is still as it was answered. Returns how many jobs were checked. */
  async check(wire: Wire, which: "fresh" | "all"): Promise<number> {
    const numbers = which === "all" ? [...this.#entries.keys()] : [...this.#fresh];
    this.#fresh = new Set();
    const pending = numbers.filter((number) => this.#entries[number]!.accepted || this.#entries[number]!.reported);
    const count = pending.length;
    const checker = async () => {
      for (let number = pending.pop(); number !== undefined; number = pending.pop()) await this.#check(wire, number);
    };
    await Promise.all(Array.from({ length: CHECKS_AT_ONCE }, checker));
    return count;
  }

  async #check(wire: Wire, number: number): Promise<void> {
    const { id, output, reported } = this.#entries[number]!;
    const { status, text } = await wire.send("GET", `${this.#base}/status/${id}`, this.#key);
    hold(status === 200, "an accepted job is there", { number, id, status, text });
    const record = JSON.parse(text) as { id: string; status: string; output?: unknown };
    // A result that was sent without an answer may be stored or not. A result that was answered must be.
    const isDone = record.id === id && record.status === "COMPLETED" && record.output === output;
    const mayRun = !reported && RUNNING.includes(record.status);
    hold(isDone || mayRun, "a job is as it was answered", { number, output, reported, record });
  }

  #taken(line: string): Held {
    const { id, input, attempt } = JSON.parse(line) as { id: string; input: { number: number }; attempt: number };
    const { number } = input;
    const entry = this.#entries[number]!;
    // No job is given out while another worker has it, nor after its result was accepted.
    hold(!this.#inHand.has(number) && entry.output === undefined, "a job is given to one at a time", { number, entry });
    hold((entry.id ?? id) === id, "a submission has one id", { number, id, entry });
    entry.id = id;
    this.#inHand.add(number);
    return { id, number, attempt };
  }

  #result(number: number): string {
    return JSON.stringify({ output: this.#entries[number]!.output });
  }

  #answered(number: number): void {
    this.acknowledged++;
    this.#fresh.add(number);
  }
}

/** Works like an expectation, but is cheap, since it runs a hundred thousand times. */
function hold(fact: boolean, rule: string, seen: object): void {
  if (!fact) throw new Error(`"${rule}" does not hold: ${JSON.stringify(seen)}`);
}
