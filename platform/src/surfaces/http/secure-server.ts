/** A server that speaks TLS: its connections count once their handshake is over. */
import type { Server, ServerOptions } from "node:http";
import { createServer, type Server as HttpsServer } from "node:https";

/** Texts in PEM form. */
export interface Certificate {
  cert: string;
  key: string;
}

const HANDSHAKE_MS = 10_000;

const secure = new WeakSet<object>();

export function createSecureServer(options: ServerOptions, { cert, key }: Certificate): Server {
  const server = createServer({ ...options, cert, key, handshakeTimeout: HANDSHAKE_MS });
  // The handshake failed: the client speaks no TLS, or does not trust the certificate. Only the client can tell.
  server.on("tlsClientError", (_, socket) => socket.on("error", () => {}).destroy());
  secure.add(server);
  return server as unknown as Server;
}

/** Undefined if it speaks no TLS. */
export const asSecure = (server: Server): HttpsServer | undefined =>
  secure.has(server) ? (server as unknown as HttpsServer) : undefined;

/** The event with which a server hands over a connection that can bring requests. */
export const connectionEvent = (server: Server) => (secure.has(server) ? "secureConnection" : "connection");
