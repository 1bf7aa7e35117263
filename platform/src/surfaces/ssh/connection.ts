/** One connection of an SSH client: who it is, and what it may open. */
import type { Duplex } from "node:stream";
import type { LoginAttempts } from "../../guards/login-attempts.ts";
import type { Clock } from "../../kernel/clock.ts";
import { sleep } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import type { Log } from "../../kernel/log.ts";
import { MIB } from "../../kernel/operation.ts";
import { isProblem } from "../../kernel/problem.ts";
import type { Random } from "../../kernel/random.ts";
import { fingerprint, type SshLogin, type SshLogins } from "../../resources/ssh/logins.ts";
import { forward, linger, refusalOf, targetOf } from "./forward.ts";
import {
  type AuthContext,
  type Connection,
  refuseOpening,
  type ServerChannel,
  type Session,
  socketOf,
  takesPackets,
  utils,
} from "./library.ts";
import { Line } from "./line.ts";
import { keepPace, type Pace } from "./pace.ts";
import type { PodDoor } from "./pod-door.ts";
import { SshSession } from "./session.ts";
import type { Share, Sharer } from "./shares.ts";

export interface ConnectionParts {
  client: Connection;
  address: string;
  clock: Clock;
  random: Random;
  log: Log;
  logins: SshLogins;
  attempts: LoginAttempts;
  door: PodDoor;
  /** Called when the client breaks the protocol. */
  violated: (reason: string) => void;
  /** Called once at login. Returns the account's share, or undefined if the account has too many connections. */
  enter: (login: SshLogin) => Share | undefined;
}

/** The most failed logins on one connection. Clients offer one key after another. */
const MOST_TRIES = 12;
const MOST_SESSIONS = 16;
const MOST_FORWARDS = 128;
/**
 * The most bytes of a channel that its program has not taken. The library lets a client send twice 2 MiB, and does not check that it stops
 * there.
 */
const MOST_UNREAD = 5 * MIB;
/** Each connection may have this many bytes not taken, however many the others of its account have. */
const FREE_UNREAD = MIB;
/**
 * The most bytes of the library's own answers that wait on a connection, apart from what lines write. The library does not check whether
 * they are read.
 */
const MOST_UNSENT = 16 * MIB;
const LONGEST_USER = 64;
const METHODS: ("publickey" | "none")[] = ["publickey"];
const MOST_NOTICES = 8;

export class SshConnection implements Sharer {
  readonly #parts: ConnectionParts;
  readonly #sessions = new Set<SshSession>();
  readonly #lines = new Set<Line>();
  readonly #notices: string[] = [];
  #forwards = 0;
  #failures = 0;
  #login: SshLogin | undefined;
  #share: Share | undefined;
  readonly #pace: Pace;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    const { client } = parts;
    const socket = socketOf(client).setNoDelay(true);
    // Most errors are ignored: a close follows, and it says all that matters. But a client that no longer answers does not close, so it is
    // cut.
    client.on("error", (error: Error & { level?: string; code?: unknown }) => {
      if (error.level === "client-timeout") this.destroy();
      // Errors that the library throws while reading have no level. A message from a client that leaves has a code.
      else if (error.level === "protocol" || (error.level === undefined && error.code === undefined))
        parts.violated(error.message);
    });
    client.on("authentication", (attempt) => floating(this.#authenticate(attempt), (error) => this.#fail(error)));
    client.on("session", (accept, reject) => this.#open(accept, reject));
    client.on("tcpip", (accept, reject, { destIP, destPort }) =>
      floating(this.#forward(accept, reject, destIP, destPort), (error) => this.#fail(error)),
    );
    client.on("openssh.streamlocal", (_, reject) =>
      refuseOpening(client, reject, "sockets of files are not forwarded to here, ports are"),
    );
    client.on("request", (_, reject) => {
      reject?.();
      this.#notice("remote forwarding (-R) is not offered here");
    });
    this.#pace = keepPace(client, parts.clock);
    // Every line may wait for this socket.
    socket.setMaxListeners(MOST_SESSIONS + 2 * MOST_FORWARDS);
    socket.on("data", () => this.#watchUnread());
    client.on("close", () => {
      for (const line of [...this.#lines]) line.gone();
    });
  }

  /** Undefined until the client has logged in. */
  get login(): SshLogin | undefined {
    return this.#login;
  }

  get unread(): number {
    let unread = 0;
    for (const { channel } of this.#lines) unread += channel.readableLength;
    return unread;
  }

  /** Says why nothing can run in its Pod any more. */
  async whyEnded(): Promise<string | undefined> {
    const { caller, pod } = this.#login!;
    return this.#parts.door.whyNot(caller, pod);
  }

  /** Ends all sessions with these words, and then the connection. OpenSSH shows nothing more once it knows that the connection ends. */
  close(words: string): void {
    const over = [...this.#sessions].map((session) => session.close(words));
    const end = () => {
      this.#parts.client.end();
    };
    floating(Promise.all(over).then(end), end);
  }

  destroy(): void {
    socketOf(this.#parts.client).destroy();
  }

  async #authenticate(attempt: AuthContext): Promise<void> {
    const { clock, log, address, attempts, client } = this.#parts;
    if (attempt.method === "none") return attempt.reject(METHODS);
    const beganAt = clock.monotonic();
    const user = attempt.username.slice(0, LONGEST_USER);
    const key = attempt.method === "publickey" ? fingerprint(attempt.key.data) : undefined;
    const found = await this.#check(attempt);
    if (typeof found !== "string") {
      if (attempt.method === "publickey" && !attempt.signature) return attempt.accept();
      attempts.succeeded(address, this.#failures);
      this.#share = this.#parts.enter(found);
      if (this.#share) {
        this.#login = found;
        log.info({ address, pod: found.pod, account: found.caller.account, key }, "SSH login");
        return attempt.accept();
      }
    }
    const reason = typeof found === "string" ? found : "too many connections of this account";
    const delayMs = attempts.delayMs(address);
    const isKeptOut = attempts.failed(address);
    log.warn({ address, user, key, reason, ...(isKeptOut && { keptOut: true }) }, "SSH login refused");
    // Every refusal takes equally long, so that the time does not reveal whether the Pod exists.
    await sleep(clock, Math.max(0, delayMs - (clock.monotonic() - beganAt)));
    attempt.reject(METHODS);
    if (++this.#failures >= MOST_TRIES || isKeptOut) client.end();
  }

  /** Returns the login, or the reason for a refusal. The reason goes only into the log. */
  async #check(attempt: AuthContext): Promise<SshLogin | string> {
    if (attempt.method !== "publickey") return `${attempt.method} is not taken, keys are`;
    const { key, signature, blob, hashAlgo } = attempt as typeof attempt & { hashAlgo?: string };
    const login = await this.#parts.logins.admit(attempt.username, key.data);
    if (!login) return "no such Pod, or the key is none of its account's";
    const registered = utils.parseKey(login.line);
    if (registered instanceof Error || Array.isArray(registered)) return "a key of a sort that is not known here";
    if (registered.type === "ssh-rsa" && hashAlgo === undefined) return "a signature with SHA-1";
    if (registered.type !== key.algo) return "a key of another sort than it says";
    if (signature && registered.verify(blob!, signature, hashAlgo) !== true) return "a wrong signature";
    return login;
  }

  #open(accept: () => Session, reject: () => void): void {
    const { client, door, random } = this.#parts;
    if (this.#sessions.size >= MOST_SESSIONS) {
      refuseOpening(client, reject, `no more than ${MOST_SESSIONS} sessions can be open on a connection`);
      return;
    }
    const { caller, pod } = this.#login!;
    const session = accept();
    const socket = socketOf(client);
    const at = [socket.remoteAddress, socket.remotePort, socket.localAddress, socket.localPort].join(" ");
    const served = new SshSession({
      session,
      clock: this.#parts.clock,
      random,
      env: { SSH_CONNECTION: at, SSH_CLIENT: at.split(" ").toSpliced(2, 1).join(" ") },
      begin: (spec) => door.exec(caller, pod, spec),
      whyEnded: () => this.whyEnded(),
      lineOn: (channel, onGone) => this.#lineOn(channel, onGone),
      notices: this.#notices,
      failed: (error) => this.#parts.log.error({ err: error }, "an SSH session failed"),
    });
    this.#sessions.add(served);
    session.once("close", () => this.#sessions.delete(served));
  }

  async #forward(accept: () => ServerChannel, reject: () => void, host: string, port: number): Promise<void> {
    const { client, door } = this.#parts;
    const { caller, pod } = this.#login!;
    const target = targetOf(host, port, pod);
    if (!target) return refuseOpening(client, reject, refusalOf(host));
    if (this.#forwards >= MOST_FORWARDS)
      return refuseOpening(client, reject, `no more than ${MOST_FORWARDS} ports can be forwarded to on a connection`);
    const part = this.#share!.forward();
    if (typeof part === "string") return refuseOpening(client, reject, part);
    using _ = part;
    this.#forwards++;
    try {
      const inside = await door.dial(caller, pod, target).catch((error: Error) => error);
      if (inside instanceof Error) {
        if (!isProblem(inside)) throw inside;
        return refuseOpening(client, reject, inside.message);
      }
      using _ = door.used(pod);
      await this.#join(accept, inside);
    } finally {
      this.#forwards--;
    }
  }

  async #join(accept: () => ServerChannel, inside: Duplex): Promise<void> {
    const { client, clock } = this.#parts;
    const isThere = () => !socketOf(client).destroyed;
    const channel = isThere() ? (accept() as ServerChannel | undefined) : undefined;
    const gone = () => (isThere() ? linger(inside, clock) : inside.destroy());
    const line = channel && this.#lineOn(channel, gone);
    if (line) await forward(line, inside);
    else inside.destroy();
  }

  #lineOn(channel: ServerChannel, onGone: () => void): Line | undefined {
    const { client } = this.#parts;
    if (!takesPackets(channel)) {
      client.end();
      return undefined;
    }
    const line = new Line(channel, socketOf(client), () => {
      this.#lines.delete(line);
      onGone();
    });
    this.#lines.add(line);
    return line;
  }

  #notice(words: string): void {
    if (this.#notices.length < MOST_NOTICES && !this.#notices.includes(words)) this.#notices.push(words);
  }

  #watchUnread(): void {
    const { client, log, address } = this.#parts;
    if ([...this.#lines].some(({ channel }) => channel.readableLength > MOST_UNREAD)) {
      log.warn({ address }, "an SSH client sent more than it was allowed");
      this.destroy();
    } else if (socketOf(client).writableLength > MOST_UNSENT) {
      log.warn({ address }, "an SSH client asks, and does not read the answers");
      this.destroy();
    } else if (this.#isFull()) this.#pace.hold(() => this.#isFull());
  }

  #isFull(): boolean {
    return this.unread > FREE_UNREAD && this.#share !== undefined && this.#share.isFull;
  }

  #fail(error: unknown): void {
    this.#parts.log.error({ err: error, address: this.#parts.address }, "an SSH connection failed");
    this.destroy();
  }
}
