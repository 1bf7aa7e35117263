/** Shares the server's connections among accounts, so that one is always left for someone else. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { every } from "../../kernel/background.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import { problem } from "../../kernel/problem.ts";
import { refusalText } from "./refusal-text.ts";
import { connectionEvent } from "./secure-server.ts";

/** A client may send this many requests ahead while it waits for an answer. */
const SENT_AHEAD_AT_MOST = 100;
/** The server closes the connection of a client that reads nothing of its answer for this long. */
const UNREAD_MS = 60_000;

/** While every connection is busy, up to this many times the maximum may be open: most of them will be idle in a moment. */
const CROWDED = 1.5;

/** An account, or an address until it is known which account connects. */
interface Party {
  name: string;
  guests: number;
  /** How many of its requests are in progress. */
  asking: number;
  /** Its connections without a request, longest idle first. */
  idle: Set<Guest>;
}

interface Guest {
  socket: Socket;
  party: Party;
  /** A request is in progress. The ones behind it wait, so that a connection never has more than one answer in memory. */
  asks: boolean;
  /** The answer to it, or to the last one. */
  answer: ServerResponse | undefined;
  /** Its request is counted for its party. */
  counts: boolean;
  behind: Behind[];
  /** What came last cannot be read, and the refusal waits for the answers before it. */
  isBroken: boolean;
  /** How many bytes had left at the last check, if others were still waiting to leave. */
  stuckAt: number | undefined;
}

/** A request that waits, or a refusal. */
interface Behind {
  answer?: ServerResponse;
  go(): void;
}

const GUEST = Symbol("guest");
type Known = Socket & { [GUEST]?: Guest };
const guestOf = (socket: Socket) => (socket as Known)[GUEST];

export interface DoorkeeperParts {
  /** The most connections at once. It may be exceeded for a moment (see `CROWDED`). */
  most: number;
  clock: Clock;
  failed?: Failed;
}

/**
 * Counts open connections by account. An address is no measure, since it may be a proxy that carries everyone. Each account may hold as
 * many as are still free for others. When connections run short, the party with the most idle ones loses the one idle for longest.
 */
export class Doorkeeper implements AsyncDisposable {
  readonly #most: number;
  readonly #guests = new Set<Guest>();
  readonly #parties = new Map<string, Party>();
  readonly #looking: AsyncDisposable;
  #asking = 0;

  constructor({ most, clock, failed = () => {} }: DoorkeeperParts) {
    this.#most = most;
    this.#looking = every(
      clock,
      { name: "close connections that nobody reads", everyMs: UNREAD_MS },
      () => this.#closeUnread(),
      failed,
    );
  }

  /** How many connections are open, and how many there may be. */
  get connections(): { open: number; most: number } {
    return { open: this.#guests.size, most: this.#most };
  }

  watch(server: Server): void {
    server.on(connectionEvent(server), (socket: Socket) => this.#enter(socket));
  }

  /** Lets a request through once the ones before it on its connection are answered. A request that need not wait allocates nothing. */
  came<R extends IncomingMessage>(
    request: R,
    response: ServerResponse,
    go: (request: R, r: ServerResponse) => void,
  ): void {
    const guest = guestOf(request.socket);
    if (guest?.asks) {
      const behind = { answer: response, go: () => go(request, response) };
      if (guest.behind.length < SENT_AHEAD_AT_MOST) guest.behind.push(behind);
      else request.socket.destroy();
      return;
    }
    if (guest) this.#ask(guest, response);
    go(request, response);
  }

  /**
   * What came last on this connection cannot be read. The requests before it are answered first, since a client takes the first answer for
   * the first request. If the body of the request in progress is what cannot be read, nobody waits for it.
   */
  broken(socket: Socket, refuse: () => void): void {
    const guest = guestOf(socket);
    if (guest?.asks && guest.isBroken) return;
    if (guest) guest.isBroken = true;
    const last = guest?.behind.at(-1)?.answer ?? guest?.answer;
    if (!guest?.asks) refuse();
    else if (last?.req.complete) guest.behind.push({ go: refuse });
    else if (guest.behind.length > 0) guest.behind.splice(-1, 1, { go: refuse });
    else if (last?.headersSent) socket.destroySoon();
    else refuse();
  }

  /** Must be called for each request that came, when its answer is closed. */
  answered({ socket }: IncomingMessage): void {
    const guest = guestOf(socket);
    if (!guest?.asks) return;
    this.#rest(guest);
    const next = guest.behind.shift();
    if (next) {
      this.#ask(guest, next.answer);
      next.go();
    } else if (this.#guests.has(guest)) {
      guest.party.idle.add(guest);
      if (this.#guests.size > this.#most) this.#makeRoom();
    }
  }

  /** Whether a request of this connection is in progress, so that the one behind it cannot have the connection. */
  isAsked(socket: Socket): boolean {
    return guestOf(socket)?.asks === true;
  }

  /** The request of this connection that is in progress. */
  inProgress(socket: Socket): IncomingMessage | undefined {
    const guest = guestOf(socket);
    return guest?.asks ? guest.answer?.req : undefined;
  }

  /** A request that leaves HTTP, such as an upgrade, counts as in progress for as long as its connection is open. */
  becomes(socket: Socket): void {
    const guest = guestOf(socket);
    if (guest && !guest.asks) this.#ask(guest, undefined);
  }

  /** Counts the request in progress for its account, or refuses it. */
  admit(socket: Socket, account: string): void {
    const guest = guestOf(socket);
    if (!guest?.asks || guest.counts) return;
    const party = guest.party.name === account ? guest.party : this.#move(guest, account);
    const free = this.#most - this.#asking;
    if (party.asking > 0 && party.asking >= free) throw tooMany(party.asking, this.#most);
    party.asking++;
    guest.counts = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looking[Symbol.asyncDispose]();
  }

  #enter(socket: Socket): void {
    const crowd = this.#guests.size;
    if (crowd >= this.#most && !this.#makeRoom() && crowd >= this.#most * CROWDED) {
      socket.end(
        refusalText(
          problem("unavailable", "The server has no connection free at the moment; try again.", {
            reason: "out-of-connections",
          }),
        ),
      );
      socket.destroySoon();
      return;
    }
    const party = this.#party(`address ${socket.remoteAddress}`);
    const guest: Guest = {
      socket,
      party,
      asks: false,
      counts: false,
      behind: [],
      stuckAt: undefined,
      answer: undefined,
      isBroken: false,
    };
    (socket as Known)[GUEST] = guest;
    this.#guests.add(guest);
    party.guests++;
    party.idle.add(guest);
    socket.once("close", () => this.#leave(guest));
  }

  #ask(guest: Guest, answer: ServerResponse | undefined): void {
    guest.asks = true;
    guest.answer = answer;
    guest.party.idle.delete(guest);
    this.#asking++;
  }

  #rest(guest: Guest): void {
    guest.asks = false;
    guest.answer = undefined;
    this.#asking--;
    if (guest.counts) guest.party.asking--;
    guest.counts = false;
  }

  #leave(guest: Guest): void {
    if (!this.#guests.delete(guest)) return;
    guest.behind = [];
    if (guest.asks) this.#rest(guest);
    this.#part(guest);
  }

  #part(guest: Guest): void {
    const { party } = guest;
    party.idle.delete(guest);
    if (--party.guests === 0) this.#parties.delete(party.name);
  }

  #move(guest: Guest, name: string): Party {
    this.#part(guest);
    guest.party = this.#party(name);
    guest.party.guests++;
    return guest.party;
  }

  #party(name: string): Party {
    let party = this.#parties.get(name);
    if (!party) {
      party = { name, guests: 0, asking: 0, idle: new Set() };
      this.#parties.set(name, party);
    }
    return party;
  }

  /** Closes an idle connection. Returns false when all are busy. */
  #makeRoom(): boolean {
    let most: Party | undefined;
    for (const party of this.#parties.values()) if (party.idle.size > (most?.idle.size ?? 0)) most = party;
    const [idlest] = most?.idle ?? [];
    if (!idlest) return false;
    this.#leave(idlest);
    idlest.socket.destroy();
    return true;
  }

  /** Closes connections where bytes waited at two checks in a row and none of them left in between. */
  #closeUnread(): void {
    for (const guest of this.#guests) {
      const { socket, stuckAt } = guest;
      const left = socket.bytesWritten - socket.writableLength;
      guest.stuckAt = socket.writableLength > 0 ? left : undefined;
      if (guest.stuckAt !== undefined && guest.stuckAt === stuckAt) socket.destroy();
    }
  }
}

function tooMany(held: number, most: number) {
  const why = `too many requests at once: this account has ${held} under way, and no more of the server's ${most} connections are free`;
  return problem("too-much", `${why}; end some of them, or try again later`, {
    retryAfterS: 5,
    reason: "too-many-at-once",
  });
}
