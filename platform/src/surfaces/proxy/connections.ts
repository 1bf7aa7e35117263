/** Connections to workers: kept open for the next request, and dropped with the worker that they lead to. */
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Pool } from "undici";
import { connection } from "../../balancing/connection.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isOutOfDescriptors, outOfDescriptors } from "../../kernel/problem.ts";
import type { Reached, Receiver } from "./receiver.ts";

/** Some servers close an idle connection after 2 s without a word; one that we close first is never written to too late. */
const IDLE_MS = 1000;
const LARGEST_HEADERS = 64 * 1024;

/** What undici calls the other end; the name is never looked up, for every connection is dialled. */
export const ORIGIN = "http://worker";

/** The worker did not accept a connection, so nothing was sent. */
export class DialRefused extends Error {}

const load = createRequire(import.meta.url);
/** Read for the first connection: a tenth of the time to start would go to it, and many servers balance no load. */
const newPool = (...given: ConstructorParameters<typeof Pool>) =>
  new (load("undici") as typeof import("undici")).Pool(...given);

const pools = new WeakMap<Reached, Pool>();

export function connectionsTo({ backend, gone }: Pick<Receiver, "backend" | "gone">, clock: Clock): Pool {
  const known = pools.get(backend);
  if (known) return known;
  const pool = newPool(ORIGIN, {
    connections: null,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    // Time is measured by the one who forwards.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: LARGEST_HEADERS,
    connect: (_options, connected) => {
      dial(backend, clock).then(
        (worker) => connected(null, worker as never),
        (error: Error) => connected(error, null),
      );
    },
  });
  pools.set(backend, pool);
  const drop = () => void pool.destroy(gone.reason as Error);
  gone.addEventListener("abort", drop, { once: true });
  if (gone.aborted) drop();
  return pool;
}

export async function dial(backend: Reached, clock: Clock): Promise<Duplex> {
  try {
    const worker = await connection(() => backend.dial(), clock);
    // Small pieces leave at once where the connection is a socket.
    if ("setNoDelay" in worker) (worker as Socket).setNoDelay(true);
    return worker;
  } catch (error) {
    // That is nothing that the worker did.
    if (isOutOfDescriptors(error)) throw outOfDescriptors(error);
    throw new DialRefused((error as Error).message, { cause: error });
  }
}
