/** One request to a worker and its answer back: both bodies stream, within bounds, at the speed of the slower side. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Slot } from "../../balancing/balancer.ts";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { bodyStalled, hasBody, tooLarge, waitsForContinue, watchOf } from "../http/body.ts";
import { type AnswerTo, BODY_LIMIT, beginAnswer, passOver, tooMuch } from "./answer.ts";
import { connectionsTo, DialRefused, ORIGIN } from "./connections.ts";
import type { RawHeaders } from "./headers.ts";

/** From the time at which a worker has the request to the end of its answer. */
export const PROCESSING_MS = 330_000;

export interface Passing extends AnswerTo {
  request: IncomingMessage;
  target: string;
  headers: RawHeaders;
  clock: Clock;
}

/** Resolves when the whole answer is on its way; rejects with the problem when it failed, perhaps in the middle of the answer. */
export function forward(passing: Passing): Promise<void> {
  const { request, slot, target, headers, clock } = passing;
  if (waitsForContinue.delete(request)) passing.response.writeContinue();
  const method = request.method as Dispatcher.HttpMethod;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const forwarding = new Forwarding(passing, resolve, reject);
  const body = bodyOf(request, { clock, stalled: () => forwarding.bodyStalled() });
  connectionsTo(slot, clock).dispatch({ origin: ORIGIN, method, path: target, headers, body }, forwarding);
  return promise;
}

class Forwarding implements Dispatcher.DispatchHandler {
  readonly #passing: Passing;
  readonly #resolve: () => void;
  readonly #reject: (problem: Problem) => void;
  readonly #timer: Timer;
  #controller: Dispatcher.DispatchController | undefined;
  #before = 0;
  #received = 0;
  /** Why we broke it off ourselves. */
  #broken: Problem | undefined;

  constructor(passing: Passing, resolve: () => void, reject: (problem: Problem) => void) {
    this.#passing = passing;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = passing.clock.after(PROCESSING_MS, () => this.#break(tooSlow(passing.slot)));
    passing.response.on("close", this.#hungUp).on("drain", this.#goOn);
    if (passing.response.destroyed) this.#hungUp();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#broken) controller.abort(this.#broken);
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    parsed: Record<string, string | string[] | undefined>,
    phrase?: string,
  ): void {
    if (status < 200) passOver(this.#passing.slot, status, ++this.#before);
    else {
      const headers = (rawHeaders as Buffer[]).map((bytes) => bytes.toString("latin1"));
      beginAnswer(this.#passing, { status, phrase, headers, parsed });
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#received > BODY_LIMIT) throw tooMuch(this.#passing.slot);
    if (!this.#passing.response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#settle();
    this.#passing.response.end();
    this.#resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle();
    const { slot } = this.#passing;
    if (error instanceof DialRefused) slot.refused(error.message);
    this.#reject(this.#broken ?? (isProblem(error) ? error : failed(slot, error)));
  }

  /** Once the worker answers, the two may take turns, and the silence of one of them may be what the other waits for. */
  bodyStalled(): void {
    if (!this.#passing.response.headersSent) this.#break(bodyStalled());
  }

  readonly #goOn = () => this.#controller?.resume();

  readonly #hungUp = () => this.#break(problem("abandoned", "the client went away"));

  #break(why: Problem): void {
    this.#broken ??= why;
    this.#controller?.abort(why);
  }

  #settle(): void {
    this.#timer.cancel();
    this.#passing.response.off("close", this.#hungUp).off("drain", this.#goOn);
  }
}

/** Bodies that were read before it was known whether their worker accepts the request. */
const readBefore = new WeakMap<IncomingMessage, Buffer | null>();

/** Small bodies are here already and leave in one piece; others stream, of which nothing is read before there is a connection. */
function bodyOf(request: IncomingMessage, watched: Watched): Buffer | Readable | null {
  if (!hasBody(request)) return null;
  const before = readBefore.get(request);
  if (before !== undefined) return before;
  if (!isHere(request)) return Readable.from(streamed(request, watched), { objectMode: false });
  const body = request.read() as Buffer | null;
  readBefore.set(request, body);
  return body;
}

/** The parser calls a request complete only after those who wait for its body have run; its length tells sooner. */
function isHere({ complete, readableLength, headers }: IncomingMessage): boolean {
  return complete || readableLength === Number(headers["content-length"]);
}

interface Watched {
  clock: Clock;
  /** Called when the client sends nothing although the worker takes what comes. */
  stalled(): void;
}

/** Counted as it goes, for a body in chunks announces no length. */
async function* streamed(request: IncomingMessage, { clock, stalled }: Watched): AsyncIterable<Buffer> {
  let sent = 0;
  const watch = watchOf(clock);
  const arriving = { heardAt: clock.monotonic(), stalled };
  watch.add(arriving);
  try {
    // The request is not destroyed when this ends early: its socket would go with it, and nobody would read the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      watch.delete(arriving);
      sent += (chunk as Buffer).length;
      if (sent > BODY_LIMIT) throw tooLarge(BODY_LIMIT);
      yield chunk as Buffer;
      arriving.heardAt = clock.monotonic();
      watch.add(arriving);
    }
  } finally {
    watch.delete(arriving);
  }
}

export const tooSlow = ({ backend }: Slot) =>
  problem(
    "late-answer",
    `worker ${backend.worker} did not finish the request within ${PROCESSING_MS / 60_000} minutes`,
  );

/** The worker did not accept a connection, so that it has got nothing of the request. */
export const wasNotSent = (error: unknown): boolean => isProblem(error) && error.cause instanceof DialRefused;

export function failed({ backend, gone }: Slot, error: Error): Problem {
  if (isProblem(error)) return error;
  const worker = `worker ${backend.worker}`;
  // Nothing was sent, and it is not the worker's fault.
  if ((error as NodeJS.ErrnoException).code === "UND_ERR_INVALID_ARG")
    return problem("unreadable", `the request cannot be passed on: ${error.message}`, { cause: error });
  if (gone.aborted) return problem("no-answer", `${worker} ended: ${(gone.reason as Error).message}`, { cause: error });
  const what = error instanceof DialRefused ? "refused the connection" : "broke the connection";
  return problem("no-answer", `${worker} ${what}: ${error.message}`, { cause: error });
}
