/** Speaks SSH with clients. It is loaded for the first of them, since the library takes 6 MB of memory. */
import type { Socket } from "node:net";
import { hostKeyText } from "./host-key-text.ts";
import { type Connection, Server } from "./library.ts";

export { SshConnection } from "./connection.ts";
export { socketOf } from "./library.ts";

const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVES_MISSED = 3;

/** Fast and safe algorithms in this runtime. There is no compression, since small input could unpack to fill the memory. */
const ALGORITHMS = {
  kex: [
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group14-sha256",
  ],
  cipher: ["aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr"],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
  compress: ["none"],
} as const;

/** Returns what takes a new connection. `greeted` is called for each client that speaks SSH. */
export function openProtocol(seed: Buffer, greeted: (client: Connection) => void): (socket: Socket) => void {
  const protocol = new Server(
    {
      hostKeys: [hostKeyText(seed)],
      ident: "millrace",
      algorithms: structuredClone(ALGORITHMS) as never,
      keepaliveInterval: KEEP_ALIVE_MS,
      keepaliveCountMax: KEEP_ALIVES_MISSED,
    } as never,
    greeted,
  );
  protocol.on("error", () => {});
  return (socket) => protocol.injectSocket(socket);
}
