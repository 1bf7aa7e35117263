/** What a connection says about the way of its requests, for the headers that a worker gets. */
import type { Socket } from "node:net";
import { isByProxy } from "../http/client-address.ts";

export const wayOf = (socket: Socket) => ({
  remote: socket.remoteAddress,
  isByProxy: isByProxy(socket),
  isEncrypted: (socket as { encrypted?: boolean }).encrypted === true,
});
