/** Lets the bodies of jobs that a worker takes into memory, or remembers why not. */
import { isProblem, type Problem } from "../../kernel/problem.ts";
import type { Hold } from "../../kernel/room.ts";
import type { RequestRoom } from "../http/request-room.ts";

/** The jobs count as begun meanwhile, and must not run out of their time: sooner than that they go back. */
const WAIT_MS = 5000;

export class Admission {
  readonly #room: RequestRoom;
  refusal: Problem | undefined;

  constructor(room: RequestRoom) {
    this.#room = room;
  }

  async ask(bytes: number): Promise<Hold> {
    this.refusal = undefined;
    try {
      return await this.#room.take(bytes, WAIT_MS);
    } catch (error) {
      if (isProblem(error)) this.refusal = error;
      throw error;
    }
  }
}
