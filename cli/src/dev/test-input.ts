/** Runs the `test_input.json` of a project as a job, and shows what became of it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "@millrace/platform/kernel/clock.ts";
import { ifNotThere } from "@millrace/platform/kernel/not-there.ts";
import type { ApiClient } from "../api.ts";
import type { Screen } from "./screen.ts";

export const TEST_INPUT = "test_input.json";
const WAIT_MS = 20_000;
const OVER = ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"];

interface JobRecord {
  id: string;
  status: string;
  executionTime?: number;
  error?: string;
  output?: unknown;
}

export interface TestOptions {
  client: ApiClient;
  screen: Screen;
  clock: Clock;
  endpoint: string;
  folder: string;
  /** The session ends, and nobody waits for the result. */
  signal: AbortSignal;
}

/** Resolves when the job is over, or at once if there is no such file. */
export class TestInput {
  readonly #options: TestOptions;
  #job: string | undefined;

  constructor(options: TestOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const body = await this.#read();
    if (body === undefined) return;
    const { client, screen, clock, endpoint } = this.#options;
    if (this.#job !== undefined) await client.call({ method: "POST", path: `/v2/${endpoint}/cancel/${this.#job}` });
    const begun = clock.monotonic();
    const { id } = (await client.call({ method: "POST", path: `/v2/${endpoint}/run` }, { body })) as JobRecord;
    this.#job = id;
    const record = await this.#end(id);
    if (record === undefined) return;
    this.#job = undefined;
    const took = `${Math.round(clock.monotonic() - begun)} ms`;
    const ran = record.executionTime === undefined ? "" : `, of which the handler took ${record.executionTime} ms`;
    if (record.status === "COMPLETED") screen.note(`${TEST_INPUT}: COMPLETED after ${took}${ran}`);
    else screen.trouble(`${TEST_INPUT}: ${record.status} after ${took}: ${record.error ?? "no reason was given"}`);
    if (record.output !== undefined) screen.value(record.output);
  }

  async #end(id: string): Promise<JobRecord | undefined> {
    const { client, endpoint, signal } = this.#options;
    while (!signal.aborted && this.#job === id) {
      const path = `/v2/${endpoint}/status-sync/${id}?wait=${WAIT_MS}`;
      const record = (await client.call({ method: "GET", path }, {}, { signal })) as JobRecord;
      if (OVER.includes(record.status)) return this.#job === id ? record : undefined;
    }
    return undefined;
  }

  async #read(): Promise<object | undefined> {
    const { folder, screen } = this.#options;
    const text = await readFile(join(folder, TEST_INPUT), "utf8").catch(ifNotThere(undefined));
    if (text === undefined) return undefined;
    try {
      const value = JSON.parse(text);
      if (typeof value === "object" && value !== null && !Array.isArray(value))
        return "input" in value ? value : { input: value };
      screen.trouble(`${TEST_INPUT} is no object: write {"input": {…}}`);
    } catch (error) {
      screen.trouble(`${TEST_INPUT} is not valid JSON: ${(error as Error).message}`);
    }
    return undefined;
  }
}
