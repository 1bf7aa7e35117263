/** The HTTP server: one Fastify instance with bounds on headers, idle time and shutdown, and no opinion on bodies. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Clock } from "../../kernel/clock.ts";
import { problem } from "../../kernel/problem.ts";
import { waitsForContinue } from "./body.ts";
import { problemJson } from "./problem-json.ts";

const HEADERS_TIMEOUT_MS = 15_000;
/** A whole request must have arrived by then; 97 MiB in 10 minutes is a very slow line. */
const REQUEST_TIMEOUT_MS = 600_000;
const KEEP_ALIVE_MS = 72_000;
const MAX_HEADER_BYTES = 32 * 1024;
const SHUTDOWN_GRACE_MS = 5000;

export function createServer(): FastifyInstance {
  const app = fastify({
    logger: false,
    forceCloseConnections: "idle",
    keepAliveTimeout: KEEP_ALIVE_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, maxHeaderSize: MAX_HEADER_BYTES },
    routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, maxParamLength: 512 },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (_error, _request, reply) => {
      const { contentType, body } = problemJson(problem("malformed", "The request path is not valid."));
      (reply as FastifyReply).code(400).type(contentType).send(Buffer.from(body));
    },
  });
  // Fastify would judge an odd content type before we know who asks. It gets a plain one, and leaves the body unread.
  app.decorateRequest("sentMediaType", undefined);
  app.addHook("onRequest", (request, _reply, done) => {
    const { headers } = request.raw;
    (request as unknown as { sentMediaType?: string }).sentMediaType = headers["content-type"];
    if (headers["content-type"] !== undefined) headers["content-type"] = "application/octet-stream";
    done();
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    waitsForContinue.add(request);
    app.server.emit("request", request, response);
  });
  return app;
}

/** Lets requests in flight finish, within bounds. */
export async function closeServer(app: FastifyInstance, clock: Clock): Promise<void> {
  const cut = clock.after(SHUTDOWN_GRACE_MS, () => app.server.closeAllConnections());
  await app.close();
  cut.cancel();
}

/** What is not even HTTP has no request to answer, only a socket to write to. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = brokenRequest(error);
  const { contentType, body } = problemJson(refusal);
  socket.end(
    `HTTP/1.1 ${refusal.status} ${refusal.title}\r\nContent-Type: ${contentType}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function brokenRequest(error: NodeJS.ErrnoException) {
  if (error.code === "HPE_HEADER_OVERFLOW") {
    return problem("headers-too-large", `The request headers are larger than ${MAX_HEADER_BYTES} bytes.`);
  }
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT")
    return problem("request-timeout", "The request did not arrive in time.");
  return problem("malformed", "The request is not valid HTTP.");
}
