/** Keeps a client waiting for what takes minutes. Clients give up after a minute without a byte, so white space goes out now and then. */
import { writeHead } from "../http/head.ts";
import type { Reply } from "../http/reply.ts";
import type { S3Call } from "./call.ts";
import { DECLARATION } from "./xml.ts";

export const EVERY_MS = 12_000;
const begun = new WeakSet<Reply>();

/** Until it is disposed of. From the first white space on the status is 200, and clients look into the body for an error, as they do with AWS. */
export function keepInTouch({ reply, parts: { clock } }: Pick<S3Call, "reply" | "parts">): Disposable {
  const speak = () => {
    timer = clock.after(EVERY_MS, speak);
    if (reply.raw.destroyed) return;
    if (!hasBegun(reply)) begin(reply);
    reply.raw.write(" ");
  };
  let timer = clock.after(EVERY_MS, speak);
  return { [Symbol.dispose]: () => timer.cancel() };
}

function begin(reply: Reply): void {
  begun.add(reply);
  reply.header("Content-Type", "application/xml");
  writeHead(reply.raw, 200, reply.headers);
  reply.raw.write(DECLARATION);
}

/** Whether the answer began with white space, and lacks its content. */
export const hasBegun = (reply: Reply): boolean => begun.has(reply);

export function finish(reply: Reply, xml: string): void {
  reply.raw.end(xml.slice(DECLARATION.length));
}
