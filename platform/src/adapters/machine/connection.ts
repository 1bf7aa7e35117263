/** Opens a connection or rejects with the reason. */
import { connect, type NetConnectOpts } from "node:net";
import type { Duplex } from "node:stream";

export function connectTo(target: NetConnectOpts): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // Ignores errors until the caller has attached a listener of its own.
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}
