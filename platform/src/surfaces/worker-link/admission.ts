/** Lets the bodies of jobs that a worker takes into memory, or remembers why not. */

import type { Hold } from "../../kernel/body-memory.ts";
import { isProblem, type Problem } from "../../kernel/problem.ts";
import type { RequestMemory } from "../http/request-memory.ts";

/** The jobs count as begun meanwhile, and must not run out of their time: sooner than that they go back. */
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
