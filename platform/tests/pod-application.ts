/** A program in a Pod that answers on an HTTP port with what it was asked, and the client for it. */
import { createServer, type IncomingHttpHeaders, request as open } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { FakeInstance } from "../src/ports/compute/fake-instance.ts";

/** Makes an instance listen on a port, and answer with what it was asked and who it is. */
export function serve(instance: FakeInstance, port: number): void {
  const server = createServer((request, response) => {
    if (request.url === "/never") return;
    if (request.url === "/cookies")
      response.setHeader("Set-Cookie", ["a=1; Domain=.pods.test; Path=/", "__Host-millrace-port=x", "b=2"]);
    if (request.url === "/stream") return void request.pipe(response);
    const { method, url, headers } = request;
    response.end(JSON.stringify({ pod: instance.spec.owner, method, url, headers }));
  });
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) =>
    sockets.handleUpgrade(request, socket, head, (client) =>
      client.on("message", (data, isBinary) => client.send(data, { binary: isBinary })),
    ),
  );
  instance.listen(port, (connection: Duplex) => server.emit("connection", connection));
}

export interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

export interface PodAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  json: any;
}

/** Sends a request as a client that reached this server by a host name. */
export async function askHost(
  server: string,
  host: string,
  { method = "GET", path = "/", headers = {}, body }: Asked = {},
): Promise<PodAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PodAnswer>();
  const request = open(server + path, { method, headers: { ...headers, host }, agent: false }, async (response) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    const json = text.startsWith("{") ? JSON.parse(text) : undefined;
    resolve({ status: response.statusCode!, headers: response.headers, text, json });
  });
  request.on("error", reject).end(body);
  return promise;
}
