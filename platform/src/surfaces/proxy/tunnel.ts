/** WebSockets: the worker answers the upgrade, and then bytes pass both ways until either side ends. */
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
  /** The client's connection, and the bytes it sent after its request. */
  socket: Duplex;
  head: Buffer;
  /** Stops watching for the client to hang up. The watch reads from the socket, so it must end before the tunnel reads. */
  stopWatching(): void;
}

/** Two pipelines listen on each end. Node would take that many listeners for a leak. */
const LISTENERS_AT_MOST = 20;
const SWITCH = ["Connection", "Upgrade", "Upgrade", "websocket"];

/** Other upgrades are not supported, and are answered as the plain requests that they also are. */
export function isWebSocket({ headers, method }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Destroys a connection whose client hangs up while no one reads it. Returns a function that stops this. */
export function watchForHangUp(socket: Duplex): () => void {
  const leave = () => void socket.destroy();
  const stop = () => void socket.off("readable", look).off("end", leave);
  function look(): void {
    const early = socket.read();
    if (early === null) return;
    // The client sends before it may. The tunnel reads these bytes later, and also notices the end then.
    stop();
    socket.unshift(early);
  }
  socket.on("readable", look).once("end", leave);
  return stop;
}

/** Resolves when both ends are closed. Rejects with the problem if the worker could not be asked. */
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
  // A WebSocket may stay open, but an answer that refuses it has a time limit.
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

/** `rest` holds the bytes after the worker's consent. If it is absent, the worker refused. */
function asked(
  { receiver, sent: { target, headers } }: Upgrading,
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
  // Either side may go at any time, and the other then goes too. No one is left to be told of the error.
  await Promise.allSettled([pipeline(worker, socket), pipeline(socket, worker)]);
  socket.destroy();
}
