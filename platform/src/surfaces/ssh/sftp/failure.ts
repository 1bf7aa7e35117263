/** Why a client's request failed: the protocol's status for it, and the reason. */
import type { Status } from "./packets.ts";

export class Failure extends Error {
  readonly status: Status;

  constructor(status: Status, words: string) {
    super(words);
    this.status = status;
  }
}

/** Derived from the output of the programs that were run for the request. */
export function failureFrom(output: string): Failure {
  const words = output.trim().split("\n").at(-1) ?? "";
  if (/no such file|does not exist|nonexistent/i.test(words)) return new Failure("missing", words);
  if (/permission denied|not permitted|read-only/i.test(words)) return new Failure("denied", words);
  return new Failure("failure", words === "" ? "it did not come about" : words);
}
