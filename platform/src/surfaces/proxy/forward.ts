/** One request passed on and its answer back: both bodies stream, within bounds, at the speed of the slower side. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import type { Clock, Timer } from "../../kernel/clock.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { bodyStalled, hasBody, tooLarge, waitsForContinue, watchOf } from "../http/body.ts";
import { type AnswerTo, beginAnswer, passOver } from "./answer.ts";
import { connectionsTo, DialRefused, ORIGIN } from "./connections.ts";
import type { RawHeaders } from "./headers.ts";
import { type Receiver, tooMuch, tooSlow } from "./receiver.ts";

export interface Passing extends AnswerTo {
  request: IncomingMessage;
  target: string;
  headers: RawHeaders;
  clock: Clock;
}

/** Resolves when the whole answer is on its way; rejects with the problem when it failed, perhaps in the middle of the answer. */
export function forward(passing: Passing): Promise<void> {
  const { request, receiver, target, headers, clock } = passing;
  if (waitsForContinue.delete(request)) passing.response.writeContinue();
  const method = request.method as Dispatcher.HttpMethod;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const forwarding = new Forwarding(passing, resolve, reject);
  const body = bodyOf(request, { clock, limit: receiver.limits.bodyBytes, stalled: () => forwarding.bodyStalled() });
  connectionsTo(receiver, clock).dispatch({ origin: ORIGIN, method, path: target, headers, body }, forwarding);
  return promise;
}

class Forwarding implements Dispatcher.DispatchHandler {
  readonly #passing: Passing;
  readonly #resolve: () => void;
  readonly #reject: (problem: Problem) => void;
  #timer: Timer;
  #controller: Dispatcher.DispatchController | undefined;
  #before = 0;
  #received = 0;
  /** Why we broke it off ourselves. */
  #broken: Problem | undefined;

  constructor(passing: Passing, resolve: () => void, reject: (problem: Problem) => void) {
    this.#passing = passing;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = this.#watch();
    passing.response.on("close", this.#hungUp).on("drain", this.#goOn);
    if (passing.response.destroyed) this.#hungUp();
  }

  /** While the request itself still comes, nobody can be late with the beginning of an answer. */
  #watch(): Timer {
    const { clock, request, receiver } = this.#passing;
    const { ms, until } = receiver.limits;
    return clock.after(ms, () => {
      if (until === "begin" && !request.complete) this.#timer = this.#watch();
      else this.#break(tooSlow(receiver));
    });
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
    if (status < 200) passOver(this.#passing.receiver, status, ++this.#before);
    else {
      const headers = (rawHeaders as Buffer[]).map((bytes) => bytes.toString("latin1"));
      beginAnswer(this.#passing, { status, phrase, headers, parsed });
      if (this.#passing.receiver.limits.until === "begin") this.#timer.cancel();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#received += chunk.length;
    const { receiver, response } = this.#passing;
    if (this.#received > receiver.limits.bodyBytes) throw tooMuch(receiver);
    if (!response.write(chunk)) controller.pause();
  }

  onResponseEnd(): void {
    this.#settle();
    this.#passing.response.end();
    this.#resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle();
    const { receiver } = this.#passing;
    if (error instanceof DialRefused) receiver.refused?.(error.message);
    this.#reject(this.#broken ?? (isProblem(error) ? error : failed(receiver, error)));
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
  limit: number;
  /** Called when the client sends nothing although the worker takes what comes. */
  stalled(): void;
}

/** Counted as it goes, for a body in chunks announces no length. */
async function* streamed(request: IncomingMessage, { clock, limit, stalled }: Watched): AsyncIterable<Buffer> {
  let sent = 0;
  const watch = watchOf(clock);
  const arriving = { heardAt: clock.monotonic(), stalled };
  watch.add(arriving);
  try {
    // The request is not destroyed when this ends early: its socket would go with it, and nobody would read the answer.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      watch.delete(arriving);
      sent += (chunk as Buffer).length;
      if (sent > limit) throw tooLarge(limit);
      yield chunk as Buffer;
      arriving.heardAt = clock.monotonic();
      watch.add(arriving);
    }
  } finally {
    watch.delete(arriving);
  }
}

/** It did not accept a connection, so that it has got nothing of the request. */
export const wasNotSent = (error: unknown): boolean => isProblem(error) && error.cause instanceof DialRefused;

/** Not the worker, but the node that it is on: it may be about to be started again. */
export const isNodeAway = (error: unknown): boolean =>
  isProblem(error) && error.cause instanceof DialRefused && isProblem(error.cause.cause, "no-answer");

export function failed({ called, gone }: Receiver, error: Error): Problem {
  if (isProblem(error)) return error;
  // Nothing was sent, and it is not its fault.
  if ((error as NodeJS.ErrnoException).code === "UND_ERR_INVALID_ARG")
    return problem("unreadable", `the request cannot be passed on: ${error.message}`, { cause: error });
  if (gone.aborted) return problem("no-answer", `${called} ended: ${(gone.reason as Error).message}`, { cause: error });
  const what = error instanceof DialRefused ? "refused the connection" : "broke the connection";
  return problem("no-answer", `${called} ${what}: ${error.message}`, { cause: error });
}
