/** Takes memory for the bodies of the jobs that a worker takes, or remembers why it could not. */

import type { Hold } from "../../kernel/body-memory.ts";
import { isProblem, type Problem } from "../../kernel/problem.ts";
import type { RequestMemory } from "../http/request-memory.ts";

/** Jobs count as begun while they wait here. They go back to the queue before they run out of time. */
const WAIT_MS = 5000;

export class Admission {
  readonly #memory: RequestMemory;
  refusal: Problem | undefined;

  constructor(memory: RequestMemory) {
    this.#memory = memory;
  }

  async ask(bytes: number): Promise<Hold> {
    this.refusal = undefined;
    try {
      return await this.#memory.take(bytes, WAIT_MS);
    } catch (error) {
      if (isProblem(error)) this.refusal = error;
      throw error;
    }
  }
}
