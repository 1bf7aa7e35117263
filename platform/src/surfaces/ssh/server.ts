/** The SSH server: accepts connections, limits them, and ends those whose Pod has ended. */

import { createServer, type Server as NetServer, type Socket } from "node:net";
import { LoginAttempts } from "../../guards/login-attempts.ts";
import { type Duty, every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, named } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import type { Log } from "../../kernel/log.ts";
import { partyOf } from "../../kernel/party.ts";
import type { Random } from "../../kernel/random.ts";
import { within } from "../../kernel/wait.ts";
import type { SshLogins } from "../../resources/ssh/logins.ts";
import type { SshConnection } from "./connection.ts";
import { watchFirstBytes } from "./first-bytes.ts";
import type { Connection } from "./library.ts";
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
/** An address that is refused again and again gets one log line per this time. */
const TOLD_AGAIN_MS = 60_000;
const MOST_TOLD = 1_000;

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
  readonly #seed: Buffer;
  #protocol: Promise<(socket: Socket) => void> | undefined;
  #isClosing = false;

  constructor(seed: Buffer, parts: SshServerParts) {
    this.#parts = parts;
    this.#seed = seed;
    this.#attempts = new LoginAttempts(parts.clock);
    this.#listener = createServer((socket) => {
      if (this.#arrive(socket)) floating(this.#serve(socket), named(parts.failed, "serve SSH"));
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
    return true;
  }

  /** What the client sends meanwhile stays in the socket, which holds little. */
  async #serve(socket: Socket): Promise<void> {
    this.#protocol ??= this.#load();
    try {
      const take = await this.#protocol;
      if (socket.destroyed) return;
      const address = socket.remoteAddress ?? "";
      const isKnown = () => !this.#strangers.has(socket);
      watchFirstBytes(socket, isKnown, (reason) => this.#violated(socket, address, reason));
      take(socket);
    } catch (error) {
      this.#protocol = undefined;
      socket.destroy();
      throw error;
    }
  }

  async #load(): Promise<(socket: Socket) => void> {
    const speech = await import("./protocol.ts");
    return speech.openProtocol(this.#seed, (client) => this.#greeted(client, speech));
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

  #greeted(client: Connection, speech: typeof import("./protocol.ts")): void {
    const { connections: most } = this.#parts;
    const socket = speech.socketOf(client);
    const address = socket.remoteAddress ?? "";
    const connection: SshConnection = new speech.SshConnection({
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
