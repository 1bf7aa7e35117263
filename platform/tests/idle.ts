/** Tells when everything that does not wait for time or for the test has happened, however long it takes. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { turn } from "../src/kernel/clock.ts";

const HEADER = "x-test-call";

/** Calls of tests that have no answer yet, and those of them that a server is at, by their number. */
const unanswered = new Set<string>();
const atServer = new Map<string, number>();
let calls = 0;

/** A call of a test: until it is answered, it is idle only while a server keeps it waiting. */
export async function counted<T>(send: (headers: Record<string, string>) => Promise<T>): Promise<T> {
  const number = String(++calls);
  unanswered.add(number);
  try {
    return await send({ [HEADER]: number });
  } finally {
    unanswered.delete(number);
  }
}

/** Notes which calls a server is at. */
export function noteCalls(server: Server): void {
  server.on("request", ({ headers }: IncomingMessage, response: ServerResponse) => {
    const number = headers[HEADER] as string | undefined;
    if (number === undefined) return;
    atServer.set(number, (atServer.get(number) ?? 0) + 1);
    response.once("close", () => {
      const left = atServer.get(number)! - 1;
      if (left > 0) atServer.set(number, left);
      else atServer.delete(number);
    });
  });
}

/** What the event loop comes back to by itself: the next turn, files, look-ups, connections and writes on their way. */
const UNDER_WAY = /^Immediate$|Req|(?:Connect|Write|Shutdown)Wrap$/;

const isQuiet = () =>
  [...unanswered].every((number) => atServer.has(number)) &&
  !process.getActiveResourcesInfo().some((name) => UNDER_WAY.test(name));

let quiet = 0;
let watching: Promise<void> | undefined;

/** One for all who ask, or they would see each other's turns. Quiet twice in a row: what has just come is acted on in the turn after. */
export function idle(): Promise<void> {
  quiet = 0;
  watching ??= watch().finally(() => {
    watching = undefined;
  });
  return watching;
}

async function watch(): Promise<void> {
  while (quiet < 2) {
    await turn();
    quiet = isQuiet() ? quiet + 1 : 0;
  }
}
