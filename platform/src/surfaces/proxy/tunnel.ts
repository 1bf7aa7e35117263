/** WebSockets: the worker answers the upgrade, and from then on bytes pass both ways until either side ends. */
import { request as ask, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DialRefused, dial } from "./connections.ts";
import { failed, type Passing } from "./forward.ts";
import { responseHeaders } from "./headers.ts";

export interface Upgrading extends Omit<Passing, "clock"> {
  /** The client's end, and what it has sent beyond its request. */
  socket: Duplex;
  head: Buffer;
  /** Ends the watch for the client's going away, which reads in our place. */
  stopWatching(): void;
}

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
    // It speaks before it may: whoever reads it later learns of its end.
    stop();
    socket.unshift(early);
  }
  socket.on("readable", look).once("end", leave);
  return stop;
}

/** Resolves when both ends are closed; rejects with the problem when the worker could not be asked. */
export async function tunnel(upgrading: Upgrading): Promise<void> {
  const { slot, socket, stopWatching } = upgrading;
  const worker = await dial(slot.backend).catch((error: Error) => {
    if (error instanceof DialRefused) slot.refused(error.message);
    throw failed(slot, error);
  });
  const cut = () => {
    worker.destroy();
    if (slot.gone.aborted) socket.destroy();
  };
  stopWatching();
  slot.gone.addEventListener("abort", cut);
  socket.once("close", cut);
  if (socket.destroyed) cut();
  try {
    const { answer, rest } = await asked(upgrading, worker);
    if (rest === undefined) await refusedByWorker(upgrading, answer);
    else await joined(upgrading, worker, answer, rest);
  } finally {
    slot.gone.removeEventListener("abort", cut);
    cut();
  }
}

/** `rest` is what the worker sent behind its consent; without it, it refused. */
function asked(
  { slot, target, headers }: Upgrading,
  worker: Duplex,
): Promise<{ answer: IncomingMessage; rest?: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ answer: IncomingMessage; rest?: Buffer }>();
  const upgrade = [...headers, "Connection", "Upgrade", "Upgrade", "websocket"];
  ask({ createConnection: () => worker, path: target, headers: upgrade, setHost: false })
    .once("upgrade", (answer: IncomingMessage, _socket, rest: Buffer) => resolve({ answer, rest }))
    .once("response", (answer: IncomingMessage) => resolve({ answer }))
    .on("error", (error) => reject(failed(slot, error)))
    .end();
  return promise;
}

async function refusedByWorker({ response, form, own }: Upgrading, answer: IncomingMessage): Promise<void> {
  response.writeHead(answer.statusCode!, answer.statusMessage!, responseHeaders(answer.rawHeaders, form, own));
  await pipeline(answer, response).catch(() => response.destroy());
}

async function joined(
  { socket, head, form, own, response }: Upgrading,
  worker: Duplex,
  answer: IncomingMessage,
  rest: Buffer,
): Promise<void> {
  response.detachSocket(socket as never);
  socket.write(consent(answer, responseHeaders(answer.rawHeaders, form, own)));
  if (rest.length > 0) worker.unshift(rest);
  if (head.length > 0) socket.unshift(head);
  // Either side may go at any time; the other one then goes too, and nobody is left to be told.
  await Promise.allSettled([pipeline(worker, socket), pipeline(socket, worker)]);
  socket.destroy();
}

function consent({ statusMessage = "" }: IncomingMessage, headers: string[]): string {
  let text = `HTTP/1.1 101 ${statusMessage}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  return `${text}\r\n`;
}
