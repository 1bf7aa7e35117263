/** Connects inside the network of an instance and passes each connection to the server, which uses it from outside. */
import { readlinkSync } from "node:fs";
import { connect } from "node:net";

/** Each request has a number, so that answers can come in any order. */
export interface Ask {
  number: number;
  host: string;
  port: number;
}

/** An answer without an error carries a connection, unless the connection broke on its way. */
export interface Answer {
  number: number;
  error?: string;
}

process.on("message", ({ number, host, port }: Ask) => {
  // Nothing is read here, since the first bytes of the other end are for the server.
  const socket = connect({ host, port, noDelay: true }).pause();
  socket.on("error", (error) => process.send!({ number, error: error.message } satisfies Answer));
  socket.once("connect", () => process.send!({ number } satisfies Answer, socket));
});

/**
 * The process whose network was to be entered may have ended, and its number may belong to another one. In the wrong network nothing is
 * connected.
 */
const [, , meant = ""] = process.argv;
if (meant !== "" && readlinkSync("/proc/self/ns/net") !== meant) process.exit(1);

// This process keeps the network alive. It ends when the server is gone or no longer needs it.
process.on("disconnect", () => process.exit());
