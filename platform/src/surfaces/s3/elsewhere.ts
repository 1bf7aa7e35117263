/** Passes an S3 request on to the node that has the files. That node checks the signature too, so the request goes unchanged. */
import { request as askPlainly, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as askSecurely } from "node:https";
import { pipeline } from "node:stream/promises";
import type { Clock } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { waitsForContinue } from "../http/body.ts";
import { writeHead } from "../http/head.ts";
import type { Reply, Request } from "../http/reply.ts";
import { S3Refused } from "./refusals.ts";

/** The node that has the files of a bucket. */
export interface FilesNode {
  id: string;
  url: string | undefined;
}

/** The files are on another node's machine. Where the request cannot be passed on, this is its refusal. */
export class FilesElsewhere extends S3Refused {
  readonly bucket: string;
  readonly node: FilesNode;

  constructor(message: string, bucket: string, node: FilesNode) {
    super("ServiceUnavailable", message);
    this.bucket = bucket;
    this.node = node;
  }
}

/** A request with this header was passed on once, and is not passed on again. */
const PASSED_HEADER = "x-millrace-passed";
/** These concern one connection only. */
const OF_THE_CONNECTION = ["connection", "keep-alive", "proxy-connection", "upgrade", "expect"];
/** A node that has not accepted the connection by then counts as unreachable. */
const CONNECT_MS = 5000;

/** A request about two buckets is the affair of the node that has the one it is addressed to. */
export const mayPass = ({ headers }: Request, error: unknown, bucket: string | undefined): error is FilesElsewhere =>
  error instanceof FilesElsewhere &&
  error.bucket === bucket &&
  error.node.url !== undefined &&
  headers[PASSED_HEADER] === undefined;

/** Resolves when the answer is sent. Rejects with a refusal if the node is not reachable. */
export async function passOn(request: Request, reply: Reply, node: FilesNode, clock: Clock): Promise<void> {
  const { origin, protocol } = new URL(node.url!);
  const ask = protocol === "https:" ? askSecurely : askPlainly;
  const headers = { ...withoutConnection(request.headers), [PASSED_HEADER]: "1" };
  const asking = ask(origin + request.url, { method: request.method, headers, agent: false });
  if (waitsForContinue.delete(request)) reply.raw.writeContinue();
  // A client that hangs up ends the request there too.
  reply.raw.once("close", () => asking.destroy());
  floating(pipeline(request, asking), () => {});
  const answer = await answerTo(asking, clock).catch((error: NodeJS.ErrnoException) => {
    const why = `Node ${node.id}, which has the files, is not reachable: ${error.code ?? error.message}.`;
    throw new S3Refused("ServiceUnavailable", why, {}, "node-away");
  });
  reply.code(answer.statusCode!);
  writeHead(reply.raw, reply.status, withoutConnection(answer.headers));
  await pipeline(answer, reply.raw).catch(() => reply.raw.destroy());
}

function withoutConnection(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.includes(name)));
}

async function answerTo(asking: ClientRequest, clock: Clock): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const late = clock.after(CONNECT_MS, () => asking.destroy(new Error(`no connection in ${CONNECT_MS / 1000} s`)));
  asking
    .once("socket", (socket) => socket.once("connect", () => late.cancel()))
    .once("response", resolve)
    .on("error", reject);
  try {
    return await promise;
  } finally {
    late.cancel();
  }
}
