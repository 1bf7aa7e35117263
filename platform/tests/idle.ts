/** Tells when everything has happened that does not wait for time or for the test, however long it takes. */
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { turn } from "../src/kernel/clock.ts";

const HEADER = "x-test-call";

/** The calls of tests without an answer, and how often a server is working on each, by their numbers. */
const unanswered = new Set<string>();
const atServer = new Map<string, number>();
let calls = 0;

/** Sends a call of a test. Until it is answered, the test counts as idle only while a server holds the call. */
export async function counted<T>(send: (headers: Record<string, string>) => Promise<T>): Promise<T> {
  const number = String(++calls);
  unanswered.add(number);
  try {
    return await send({ [HEADER]: number });
  } finally {
    unanswered.delete(number);
  }
}

/** Records which calls a server is working on. */
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

/** Resources that the event loop comes back to by itself: the next turn, files, lookups, and connections and writes in progress. */
const UNDER_WAY = /^Immediate$|Req|(?:Connect|Write|Shutdown)Wrap$/;

const isQuiet = () =>
  [...unanswered].every((number) => atServer.has(number)) &&
  !process.getActiveResourcesInfo().some((name) => UNDER_WAY.test(name));

let quiet = 0;
let watching: Promise<void> | undefined;

/**
 * All callers share one watch, or they would see each other's turns. It must be quiet twice, since new input is acted on one turn later.
 */
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
