/** WebSockets: the worker answers the upgrade, and from then on bytes pass both ways until either side ends. */
import { request as ask, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isProblem } from "../../kernel/problem.ts";
import { writeHead } from "../http/head.ts";
import { beginAnswer, passOver } from "./answer.ts";
import { DialRefused, dial } from "./connections.ts";
import { failed, type Passing } from "./forward.ts";
import { responseHeaders } from "./headers.ts";
import { type Receiver, tooMuch, tooSlow } from "./receiver.ts";

export interface Upgrading extends Passing {
  /** The client's end, and what it has sent beyond its request. */
  socket: Duplex;
  head: Buffer;
  /** Ends the watch for the client's going away, which reads in our place. */
  stopWatching(): void;
}

/** Two pipelines listen at each end, which Node would take for a leak. */
const LISTENERS_AT_MOST = 20;
const SWITCH = ["Connection", "Upgrade", "Upgrade", "websocket"];

/** An upgrade to anything else is not ours to make, and is answered as the plain request that it also is. */
export function isWebSocket({ headers, method }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Destroys a connection whose client has let go of it, as long as nobody reads it; returns how to stop. */
export function watchForHangUp(socket: Duplex): () => void {
  const leave = () => void socket.destroy();
  const stop = () => void socket.off("readable", look).off("end", leave);
  function look(): void {
    const early = socket.read();
    if (early === null) return;
    // It speaks before it may: the tunnel reads it later and learns of its end.
    stop();
    socket.unshift(early);
  }
  socket.on("readable", look).once("end", leave);
  return stop;
}

/** Resolves when both ends are closed; rejects with the problem when the worker could not be asked. */
export async function tunnel(upgrading: Upgrading): Promise<void> {
  const { receiver, socket, stopWatching, clock } = upgrading;
  const worker = await dial(receiver.backend, clock).catch((error: Error) => {
    if (error instanceof DialRefused) receiver.refused?.(error.message);
    throw failed(receiver, error);
  });
  const cut = () => {
    worker.destroy();
    if (receiver.gone.aborted) socket.destroy();
  };
  stopWatching();
  receiver.gone.addEventListener("abort", cut);
  socket.once("close", cut);
  if (socket.destroyed) cut();
  // A WebSocket may last, and an answer that is none may not.
  const timer = clock.after(receiver.limits.ms, () => worker.destroy(tooSlow(receiver)));
  try {
    const { answer, rest } = await asked(upgrading, worker);
    if (rest === undefined) await refusedByWorker(upgrading, answer);
    else {
      timer.cancel();
      await joined(upgrading, worker, answer, rest);
    }
  } finally {
    timer.cancel();
    receiver.gone.removeEventListener("abort", cut);
    cut();
  }
}

/** `rest` is what the worker sent behind its consent; without it, it refused. */
function asked(
  { receiver, target, headers }: Upgrading,
  worker: Duplex,
): Promise<{ answer: IncomingMessage; rest?: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ answer: IncomingMessage; rest?: Buffer }>();
  let before = 0;
  ask({ createConnection: () => worker, path: target, headers: [...headers, ...SWITCH], setHost: false })
    .once("upgrade", (answer: IncomingMessage, _socket, rest: Buffer) => resolve({ answer, rest }))
    .once("response", (answer: IncomingMessage) => resolve({ answer }))
    .on("information", ({ statusCode }) => {
      try {
        passOver(receiver, statusCode, ++before);
      } catch (error) {
        worker.destroy(error as Error);
      }
    })
    .on("error", (error) => reject(isProblem(error) ? error : failed(receiver, error)))
    .end();
  return promise;
}

async function refusedByWorker(upgrading: Upgrading, answer: IncomingMessage): Promise<void> {
  const { statusCode: status = 0, statusMessage: phrase, rawHeaders: headers } = answer;
  const { "transfer-encoding": coding, "content-length": length = 0 } = answer.headers;
  beginAnswer(upgrading, { status, phrase, headers, coding, length: Number(length) });
  const { response, receiver } = upgrading;
  await pipeline(answer, (chunks) => limited(chunks, receiver), response).catch(() => response.destroy());
}

async function* limited(chunks: AsyncIterable<Buffer>, receiver: Receiver): AsyncIterable<Buffer> {
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.length;
    if (received > receiver.limits.bodyBytes) throw tooMuch(receiver);
    yield chunk;
  }
}

async function joined(
  { socket, head, form, own, response }: Upgrading,
  worker: Duplex,
  answer: IncomingMessage,
  rest: Buffer,
): Promise<void> {
  writeHead(response, 101, [...SWITCH, ...responseHeaders(answer.rawHeaders, form, own)]);
  response.flushHeaders();
  response.detachSocket(socket as never);
  if (rest.length > 0) worker.unshift(rest);
  if (head.length > 0) socket.unshift(head);
  for (const end of [socket, worker]) end.setMaxListeners(LISTENERS_AT_MOST);
  // Either side may go at any time; the other one then goes too, and nobody is left to be told.
  await Promise.allSettled([pipeline(worker, socket), pipeline(socket, worker)]);
  socket.destroy();
}
