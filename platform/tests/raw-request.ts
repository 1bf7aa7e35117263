/** Sends exactly the given bytes on a socket of its own, for requests that no client would send. */
import { connect } from "node:net";

/** Resolves with everything that came back once the server closed the socket. */
export function raw(port: number, request: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = "";
  const socket = connect(port, "127.0.0.1", () => socket.write(request));
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    received += chunk;
  });
  socket.once("error", reject);
  socket.once("close", () => resolve(received));
  return promise;
}
