/** Forwards one request and its answer. Both bodies stream, within limits, at the speed of the slower side. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../kernel/clock.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import { bodyStalled, hasBody, mayTakeLong, waitsForContinue } from "../http/body.ts";
import { StallWatch } from "../http/stall-watch.ts";
import { type AnswerTo, beginAnswer, passOver } from "./answer.ts";
import type { AnswerHead } from "./answer-head.ts";
import { type Asker, type Connection, connectionsTo, DialRefused } from "./connections.ts";
import { type Receiver, tooMuch, tooSlow } from "./receiver.ts";
import type { SentHead } from "./sent-head.ts";
import { isHere, send, type Upload, type Uploaded } from "./upload.ts";

export interface Passing extends AnswerTo {
  request: IncomingMessage;
  sent: SentHead;
  clock: Clock;
  /** Is done before the caller gets the end of the answer. */
  beforeEnd?: ((status: number) => Promise<void>) | undefined;
}

/** Resolves when the whole answer has been written. Rejects with the problem if it failed, perhaps in the middle of the answer. */
export function forward(passing: Passing): Promise<void> {
  const { request, response, sent } = passing;
  if (!sent.isValid) return Promise.reject(problem("unreadable", "the path of the request is none"));
  if (waitsForContinue.delete(request)) response.writeContinue();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const forwarding = new Forwarding(passing, resolve, reject);
  // A small body that came with its head is complete in the next microtask, after the parser has gone on.
  if (isHere(request)) forwarding.begin();
  else queueMicrotask(() => forwarding.begin());
  return promise;
}

/** Up to this length, a body is written in one text with its head. */
const IN_ONE_TEXT = 16 * 1024;

class Forwarding implements Asker, Uploaded {
  readonly #passing: Passing;
  readonly #resolve: () => void;
  readonly #reject: (problem: Problem) => void;
  readonly #watch: StallWatch;
  #connection: Connection | undefined;
  #upload: Upload | undefined;
  #before = 0;
  #received = 0;
  #isOver = false;
  /** The worker waits until the client has read what there is. */
  #isHeld = false;
  /** Whether the request can be sent once more if the connection closes without an answer. */
  #isRepeatable = false;
  /** When the worker got the request, or when that time was last restarted. */
  heardAt: number;
  place: number | undefined = undefined;

  constructor(passing: Passing, resolve: () => void, reject: (problem: Problem) => void) {
    const { clock, receiver, response } = passing;
    this.#passing = passing;
    this.#resolve = resolve;
    this.#reject = reject;
    this.heardAt = clock.monotonic();
    this.#watch = watchFor(clock, receiver.limits.ms);
    this.#watch.add(this);
    response.on("close", () => {
      if (!this.#isOver) this.#break(abandoned());
    });
  }

  begin(): void {
    const { request, receiver, response, clock } = this.#passing;
    if (response.destroyed) this.#break(abandoned());
    if (this.#isOver) return;
    const kept = connectionsTo(receiver, clock).take();
    if (kept) {
      this.#isRepeatable = isRepeatable(request);
      this.#send(kept);
    } else this.#dial();
  }

  #dial(): void {
    const { receiver, clock } = this.#passing;
    const connections = connectionsTo(receiver, clock);
    connections.dial().then(
      (dialled) => (this.#isOver ? connections.keep(dialled) : this.#send(dialled)),
      (error: Error) => this.broke(error),
    );
  }

  get isSent(): boolean {
    return this.#upload === undefined || this.#upload.isWhole;
  }

  interim(status: number): void {
    passOver(this.#passing.receiver, status, ++this.#before);
  }

  head(head: AnswerHead): void {
    if (this.#isOver) return;
    beginAnswer(this.#passing, head);
    if (this.#passing.receiver.limits.until === "begin") this.#watch.delete(this);
  }

  body(chunk: Buffer, from: number, to: number, isLast: boolean): void {
    if (this.#isOver) return;
    const { receiver, response } = this.#passing;
    this.#received += to - from;
    if (this.#received > receiver.limits.bodyBytes) throw tooMuch(receiver);
    if (isLast) this.#end(chunk, from, to);
    else if (!response.write(chunk.subarray(from, to)) && !response.destroyed) this.#hold();
  }

  broke(why: Error): void {
    const { receiver } = this.#passing;
    if (this.#isRepeatable && !this.#connection!.isAnswering && !receiver.gone.aborted) {
      this.#isRepeatable = false;
      this.#dial();
    } else {
      if (why instanceof DialRefused) receiver.refused?.(why.message);
      this.#fail(failed(receiver, why));
    }
  }

  drained(): void {
    this.#upload?.drained();
  }

  /** The time is up. But while the request is still arriving, the worker cannot be late with the beginning of its answer. */
  stalled(): void {
    const { clock, request, receiver } = this.#passing;
    if (receiver.limits.until === "begin" && !request.complete) {
      this.heardAt = clock.monotonic();
      this.#watch.add(this);
    } else this.#break(tooSlow(receiver));
  }

  /** After the worker has begun to answer, both sides may take turns, and one may be silent because it waits for the other. */
  bodyStalled(): void {
    if (!this.#passing.response.headersSent) this.#break(bodyStalled());
  }

  bodyRefused(why: Problem): void {
    this.#break(why);
  }

  #send(connection: Connection): void {
    const { request, sent, clock, receiver } = this.#passing;
    this.#connection = connection;
    connection.ask(this, request.method);
    const uploading = { request, sent, clock, limit: receiver.limits.bodyBytes };
    this.#upload = send(connection.stream, uploading, this);
    if (this.#upload && receiver.limits.until === "begin") mayTakeLong.add(request);
  }

  /** Pauses the worker until the client has read what there is. What had come by then may still bring many chunks. */
  #hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#connection!.stream.pause();
    this.#passing.response.once("drain", () => this.#letGo());
  }

  #letGo(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#connection!.stream.resume();
  }

  #end(chunk: Buffer, from: number, to: number): void {
    const { response, beforeEnd } = this.#passing;
    this.#settle();
    if (beforeEnd) {
      // The bytes of the chunk are used again for what comes next.
      const last = Buffer.from(chunk.subarray(from, to));
      beforeEnd(response.statusCode).then(() => this.#finish(last, 0, last.length), this.#reject);
    } else this.#finish(chunk, from, to);
  }

  #finish(chunk: Buffer, from: number, to: number): void {
    const { response } = this.#passing;
    if (from === to) response.end();
    else if (to - from <= IN_ONE_TEXT) response.end(chunk.toString("latin1", from, to), "latin1");
    else response.end(chunk.subarray(from, to));
    this.#resolve();
  }

  #break(why: Problem): void {
    const connection = this.#connection;
    this.#fail(why);
    connection?.leave();
  }

  #fail(why: Problem): void {
    if (this.#isOver) return;
    this.#settle();
    this.#reject(why);
  }

  #settle(): void {
    this.#isOver = true;
    this.#watch.delete(this);
    this.#upload?.stop();
    // The next request on this connection does not wait for this client.
    this.#letGo();
    this.#connection = undefined;
  }
}

/**
 * A worker may close a kept connection at the very moment in which a request is sent on it. One that only asks, and has nothing more to
 * send, may be sent again on a new connection.
 */
const isRepeatable = (request: IncomingMessage) =>
  (request.method === "GET" || request.method === "HEAD") && !hasBody(request);

const abandoned = () => problem("abandoned", "the client went away");

const watches = new WeakMap<Clock, Map<number, StallWatch>>();

/** All requests with the same time limit share one timer. */
function watchFor(clock: Clock, ms: number): StallWatch {
  let ofClock = watches.get(clock);
  if (!ofClock) {
    ofClock = new Map();
    watches.set(clock, ofClock);
  }
  let watch = ofClock.get(ms);
  if (!watch) {
    watch = new StallWatch(clock, ms);
    ofClock.set(ms, watch);
  }
  return watch;
}

/** The worker accepted no connection, so it got nothing of the request. */
export const wasNotSent = (error: unknown): boolean => isProblem(error) && error.cause instanceof DialRefused;

/** The worker's node cannot be reached. It may be restarting. */
export const isNodeAway = (error: unknown): boolean =>
  isProblem(error) && error.cause instanceof DialRefused && isProblem(error.cause.cause, "no-answer");

export function failed({ called, gone }: Receiver, error: Error): Problem {
  if (isProblem(error)) return error;
  if (gone.aborted) return problem("no-answer", `${called} ended: ${(gone.reason as Error).message}`, { cause: error });
  const what = error instanceof DialRefused ? "refused the connection" : "broke the connection";
  return problem("no-answer", `${called} ${what}: ${error.message}`, { cause: error });
}
