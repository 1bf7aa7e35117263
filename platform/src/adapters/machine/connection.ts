/** A connection that is there, or a reason why not. */
import { connect, type NetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";

/** Resolves with a connection, or rejects when none can be made. */
export function connectTo(target: NetConnectOpts): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // Until somebody uses it, and listens, its errors are nobody's.
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}
