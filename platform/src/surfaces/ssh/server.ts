/** The SSH server: accepts connections, limits them, and ends those whose Pod has ended. */

import { createServer, type Server as NetServer, type Socket } from "node:net";
import { LoginAttempts } from "../../guards/login-attempts.ts";
import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import type { Log } from "../../kernel/log.ts";
import { partyOf } from "../../kernel/party.ts";
import type { Random } from "../../kernel/random.ts";
import { within } from "../../kernel/wait.ts";
import type { SshLogins } from "../../resources/ssh/logins.ts";
import { SshConnection } from "./connection.ts";
import { watchFirstBytes } from "./first-bytes.ts";
import { hostKeyText } from "./host-key-text.ts";
import { type Connection, Server, socketOf } from "./library.ts";
import type { PodDoor } from "./pod-door.ts";
import { Shares } from "./shares.ts";

export interface SshServerParts {
  clock: Clock;
  random: Random;
  log: Log;
  logins: SshLogins;
  door: PodDoor;
  /** The most logged-in connections at once. */
  connections: number;
  failed: Failed;
}

/** The time between connecting and logging in. */
export const LOGIN_MS = 30_000;
/** The most connections without a login: in all, beyond which the oldest is closed, and per address. */
export const MOST_STRANGERS = 128;
export const MOST_STRANGERS_OF_ADDRESS = 16;
/** One account gets at most one in this many connections, so that some are left for others. */
const SHARE_OF_ACCOUNT = 4;
const LOOK_MS = 5_000;
/** How long sessions have to deliver their last words. */
const CLOSE_MS = 2_000;
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVES_MISSED = 3;
/** An address that is refused again and again gets one log line per this time. */
const TOLD_AGAIN_MS = 60_000;
const MOST_TOLD = 1_000;

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

export class SshServer implements AsyncDisposable {
  readonly #parts: SshServerParts;
  readonly #attempts: LoginAttempts;
  readonly #listener: NetServer;
  /** Connections without a login, oldest first, each with the address that it counts for. */
  readonly #strangers = new Map<Socket, string>();
  readonly #connections = new Map<Socket, SshConnection>();
  readonly #shares = new Shares();
  readonly #told = new Map<string, number>();
  readonly #looking: Duty;
  #isClosing = false;

  constructor(seed: Buffer, parts: SshServerParts) {
    this.#parts = parts;
    this.#attempts = new LoginAttempts(parts.clock);
    const protocol = new Server(
      {
        hostKeys: [hostKeyText(seed)],
        ident: "millrace",
        algorithms: structuredClone(ALGORITHMS) as never,
        keepaliveInterval: KEEP_ALIVE_MS,
        keepaliveCountMax: KEEP_ALIVES_MISSED,
      } as never,
      (client) => this.#greeted(client),
    );
    protocol.on("error", () => {});
    this.#listener = createServer((socket) => {
      if (this.#arrive(socket)) protocol.injectSocket(socket);
    });
    this.#looking = every(
      parts.clock,
      { name: "look after SSH connections", everyMs: LOOK_MS },
      () => this.#look(),
      parts.failed,
    );
  }

  /** Resolves with the port, or rejects if it cannot listen. */
  listen({ port, host }: { port: number; host: string }): Promise<number> {
    const listener = this.#listener;
    return new Promise((resolve, reject) => {
      listener.once("error", reject);
      listener.listen({ port, host }, () => {
        listener.off("error", reject);
        listener.on("error", named(this.#parts.failed, "listen for SSH"));
        const address = listener.address();
        resolve(typeof address === "object" && address ? address.port : port);
      });
    });
  }

  /** Tells every session why it ends, and waits a moment for the words to arrive. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await this.#looking[Symbol.asyncDispose]();
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    for (const socket of this.#strangers.keys()) socket.destroy();
    for (const connection of this.#connections.values()) connection.close("the server ends");
    await within(this.#parts.clock, CLOSE_MS, closed);
    for (const socket of this.#connections.keys()) socket.destroy();
    if (this.#listener.listening) await closed;
  }

  /** Whether the connection may go on to log in. */
  #arrive(socket: Socket): boolean {
    const { clock } = this.#parts;
    const address = socket.remoteAddress ?? "";
    const party = partyOf(address);
    socket.on("error", () => {});
    const refusal = this.#refusalOf(address, party);
    if (refusal !== undefined) {
      this.#tell(party, address, refusal);
      socket.destroy();
      return false;
    }
    this.#strangers.set(socket, party);
    const [oldest] = this.#strangers.keys();
    if (this.#strangers.size > MOST_STRANGERS) {
      this.#tell("", address, `more than ${MOST_STRANGERS} connections without a login: the oldest is closed`);
      oldest!.destroy();
    }
    const late = clock.after(LOGIN_MS, () => {
      if (!this.#strangers.has(socket)) return;
      this.#parts.log.warn({ address, reason: `no login within ${LOGIN_MS / 1000} s` }, "SSH login refused");
      socket.destroy();
    });
    socket.once("close", () => {
      late.cancel();
      this.#strangers.delete(socket);
      this.#connections.delete(socket);
    });
    watchFirstBytes(
      socket,
      () => !this.#strangers.has(socket),
      (reason) => this.#violated(socket, address, reason),
    );
    return true;
  }

  /**
   * Closes the connection at once and silently. The library would otherwise read on, and allocate as much memory as a packet claims to
   * need.
   */
  #violated(socket: Socket, address: string, reason: string): void {
    if (socket.destroyed) return;
    const isKeptOut = this.#strangers.has(socket) && this.#attempts.failed(address);
    this.#parts.log.warn({ address, reason, ...(isKeptOut && { keptOut: true }) }, "SSH connection ended");
    socket.destroy();
  }

  #refusalOf(address: string, party: string): string | undefined {
    if (this.#isClosing) return "the server ends";
    const keptOutMs = this.#attempts.keptOutMs(address);
    if (keptOutMs > 0) return `kept out for ${Math.ceil(keptOutMs / 1000)} s more after too many failures`;
    const others = [...this.#strangers.values()].filter((one) => one === party).length;
    if (others < MOST_STRANGERS_OF_ADDRESS) return undefined;
    return `${MOST_STRANGERS_OF_ADDRESS} connections of this address have no login yet`;
  }

  /** Clients that are refused before any login could fill the log, so only one line per address is written in a while. */
  #tell(party: string, address: string, reason: string): void {
    const now = this.#parts.clock.monotonic();
    if (now - (this.#told.get(party) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_MS) return;
    this.#told.delete(party);
    this.#told.set(party, now);
    const [oldest] = this.#told.keys();
    if (this.#told.size > MOST_TOLD) this.#told.delete(oldest!);
    this.#parts.log.warn({ address, reason }, "SSH connection refused");
  }

  #greeted(client: Connection): void {
    const { connections: most } = this.#parts;
    const socket = socketOf(client);
    const address = socket.remoteAddress ?? "";
    const connection = new SshConnection({
      ...this.#parts,
      client,
      address,
      violated: (reason) => this.#violated(socket, address, reason),
      attempts: this.#attempts,
      enter: ({ caller: { account } }) => {
        const all = [...this.#connections.values()];
        const own = all.filter(({ login }) => login?.caller.account === account).length;
        if (all.length >= most || own >= Math.max(1, Math.ceil(most / SHARE_OF_ACCOUNT))) return undefined;
        this.#strangers.delete(socket);
        this.#connections.set(socket, connection);
        socket.once("close", () => this.#shares.leave(account, connection));
        return this.#shares.join(account, connection);
      },
    });
  }

  /** Ends the connections to Pods that have ended. */
  async #look(): Promise<void> {
    const asked = new Map<string, Promise<string | undefined>>();
    for (const [socket, connection] of [...this.#connections]) {
      const { pod } = connection.login!;
      const why = await (asked.get(pod) ?? asked.set(pod, connection.whyEnded()).get(pod)!);
      if (why === undefined) continue;
      connection.close(why);
      this.#parts.clock.after(CLOSE_MS, () => void socket.destroy());
    }
  }
}
