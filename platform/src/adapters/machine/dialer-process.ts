/** Connects inside the network of an instance and hands each connection to the server, which goes on with it from outside. */
import { readlinkSync } from "node:fs";
import { connect } from "node:net";

/** Asks carry a number, so that answers can come in any order. */
export interface Ask {
  number: number;
  host: string;
  port: number;
}

/** Without an error there is a connection with it, unless it broke on its way. */
export interface Answer {
  number: number;
  error?: string;
}

process.on("message", ({ number, host, port }: Ask) => {
  // What the other end says first is for the server, which gets the connection: nothing is read here.
  const socket = connect({ host, port, noDelay: true }).pause();
  socket.on("error", (error) => process.send!({ number, error: error.message } satisfies Answer));
  socket.once("connect", () => process.send!({ number } satisfies Answer, socket));
});

/** The process by whose number the network was entered may have ended, and its number be another's: what is connected to there is not meant. */
const [, , meant = ""] = process.argv;
if (meant !== "" && readlinkSync("/proc/self/ns/net") !== meant) process.exit(1);

// It holds the network in being: without a server, or once the server has no more use for it, it goes.
process.on("disconnect", () => process.exit());
