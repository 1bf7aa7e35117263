/** Reads request bodies with a limit, and refuses by the announced length those that are too long. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { type Clock, sharedTurn } from "../../kernel/clock.ts";
import { MIB } from "../../kernel/operation.ts";
import { type Problem, problem } from "../../kernel/problem.ts";
import { FilledBody, GatheredBody } from "./arriving-bytes.ts";
import type { RequestMemory } from "./request-memory.ts";
import { StallWatch } from "./stall-watch.ts";

/** The server gives up on a client that sends nothing for this long. */
export const STALL_MS = 15_000;

/** Marks a request whose client waits for `100 Continue` before it sends its body. */
export const waitsForContinue = new WeakSet<IncomingMessage>();

/** Marks a request whose body may take as long as both sides want. The time limit for whole requests does not hold for it. */
export const mayTakeLong = new WeakSet<IncomingMessage>();

export const announcedLength = (request: IncomingMessage) => Number(request.headers["content-length"] ?? 0);

/** Refuses a body by its announced length, before any of it is read. */
export function refuseTooLarge(request: IncomingMessage, limit: number): void {
  if (announcedLength(request) > limit) throw tooLarge(limit);
}

interface Reading {
  limit: number;
  clock: Clock;
  /** The request takes the memory for its body from here. */
  memory: Pick<RequestMemory, "take">;
  /** Called with the bytes that have arrived of a body that is too large, before it is refused. */
  overflow?: (came: Buffer) => void;
}

/** Takes a short body that has arrived completely. Undefined if it must be waited for. */
export function bodyAtHand(request: IncomingMessage, limit: number): Buffer | undefined {
  if (!request.complete || announcedLength(request) > UNCOUNTED_BYTES) return undefined;
  return bufferedBody(request, limit, undefined);
}

/** Reads a body. The server neither reads nor asks for more of a long body until there is memory for it. */
export async function readBody(request: IncomingMessage, response: ServerResponse, reading: Reading): Promise<Buffer> {
  const { limit, memory, overflow } = reading;
  const announced = Math.min(announcedLength(request), limit);
  if (announced > UNCOUNTED_BYTES) {
    const taken = memory.take(announced);
    if (taken instanceof Promise) await taken;
  }
  if (waitsForContinue.delete(request)) response.writeContinue();
  // Most bodies arrive with their headers and are complete by the end of this turn. Listening to the stream would cost more than all the
  // rest.
  if (!request.complete) await sharedTurn();
  if (request.complete) return bufferedBody(request, limit, overflow);
  if (request.destroyed) throw brokenOff();
  return arrivingBody(request, reading);
}

function arrivingBody(request: IncomingMessage, { limit, clock, memory, overflow }: Reading): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const watch = watchOf(clock);
  const arriving = { heardAt: clock.monotonic(), stalled };
  const announced = announcedLength(request);
  const body = announced > UNCOUNTED_BYTES && announced <= limit ? new FilledBody(announced) : new GatheredBody();
  // A body of unknown length is counted once it is long, and then with the longest length allowed.
  let isCounted = announced > 0;
  let over = false;

  function take(chunk: Buffer): void {
    if (over) return;
    body.add(chunk);
    arriving.heardAt = clock.monotonic();
    if (body.length > limit) tooMuch();
    else if (!isCounted && body.length > UNCOUNTED_BYTES) count();
  }

  function count(): void {
    isCounted = true;
    const taken = memory.take(limit);
    if (!(taken instanceof Promise)) return;
    // The watch for stalls is off here: the client is not the one who is late.
    watch.delete(arriving);
    request.pause();
    taken.then(goOn, refuse);
  }

  function goOn(): void {
    if (over) return;
    arriving.heardAt = clock.monotonic();
    watch.add(arriving);
    request.resume();
  }

  function tooMuch(): void {
    overflow?.(body.came());
    refuse(tooLarge(limit));
  }

  function finish(): void {
    over = true;
    watch.delete(arriving);
    resolve(body.whole());
  }

  // The request is not destroyed. That would close its socket, and the client could not read the answer.
  function refuse(refusal: Problem): void {
    if (over) return;
    over = true;
    watch.delete(arriving);
    reject(refusal);
  }

  function stalled(): void {
    refuse(bodyStalled());
  }

  /** No one is left to read this refusal. It only keeps a client that went away from looking like a fault of the server. */
  function abandoned(): void {
    // A request also closes after its end. Making a problem is expensive, since it records a stack trace, so none is made then.
    if (!over) refuse(brokenOff());
  }

  watch.add(arriving);
  request.on("data", take).on("end", finish).on("error", abandoned).on("close", abandoned);
  return promise;
}

export const bodyStalled = () => problem("too-slow", `The request body stalled for ${STALL_MS / 1000} seconds.`);

export const brokenOff = () => problem("unreadable", "The request body ended before its announced length.");

const watches = new WeakMap<Clock, StallWatch>();

export function watchOf(clock: Clock): StallWatch {
  let watch = watches.get(clock);
  if (!watch) {
    watch = new StallWatch(clock, STALL_MS);
    watches.set(clock, watch);
  }
  return watch;
}

/** Takes a body that has arrived completely, without waiting. */
function bufferedBody(request: IncomingMessage, limit: number, overflow: Reading["overflow"]): Buffer {
  const bytes = (request.read() as Buffer | null) ?? Buffer.alloc(0);
  if (bytes.length <= limit) return bytes;
  overflow?.(bytes);
  throw tooLarge(limit);
}

/** Whether the client announced a body at all. */
export function hasBody(request: IncomingMessage): boolean {
  const { "content-length": length = 0, "transfer-encoding": chunked } = request.headers;
  return chunked !== undefined || Number(length) > 0;
}

export function tooLarge(limit: number): Problem {
  const shown = limit % MIB === 0 ? `${limit / MIB} MB` : `${limit / 1024} KB`;
  return problem(
    "too-large",
    `The request body is larger than the limit of ${shown} (${limit} bytes) for this operation.`,
  );
}
