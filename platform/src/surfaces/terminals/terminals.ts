/** Terminals over WebSocket: a ticket opens one once, and it ends with the key, the program or the server. */

import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { every } from "../../kernel/background.ts";
import type { Caller } from "../../kernel/caller.ts";
import type { Clock } from "../../kernel/clock.ts";
import { type Failed, failedTo } from "../../kernel/failed.ts";
import { floating } from "../../kernel/floating.ts";
import type { Log } from "../../kernel/log.ts";
import { isProblem, type Problem, problem } from "../../kernel/problem.ts";
import type { Exit } from "../../ports/compute/exit.ts";
import { reasonOf } from "../../resources/shells.ts";
import { commandOf, TERMINAL_PATH, type TerminalService } from "../../resources/terminals/service.ts";
import type { TerminalAsked } from "../../resources/terminals/tickets.ts";
import type { Doorkeeper } from "../http/doorkeeper.ts";
import { endSoon } from "../http/last-words.ts";
import { refusalText } from "../http/refusal-text.ts";
import type { Request } from "../http/reply.ts";
import type { Ahead } from "../http/server.ts";
import { isWebSocket } from "../proxy/tunnel.ts";
import { mayConnect, type PageOrigins } from "./page-origin.ts";
import { type Ending, Session } from "./session.ts";

export interface TerminalsParts extends PageOrigins {
  terminals: TerminalService;
  doorkeeper: Doorkeeper;
  clock: Clock;
  log: Log;
  failed?: Failed;
}

/** The most terminals of one account on this node. The driver limits how many programs run in one instance. */
export const MOST_TERMINALS = 100;
/**
 * Long enough for what people paste; more comes in several frames. Each terminal may hold one frame in memory while its program does not
 * read.
 */
const LONGEST_FRAME = 262_144;
/** How many network pieces a frame may have, and how many frames a message may have. Each costs memory, however short it is. */
const MOST_PIECES = 2048;
/** A revoked key, and everything begun with it, stops working within this time. */
const LOOK_MS = 1000;
/** Proxies between client and server close connections that are silent for a minute. */
export const BEAT_MS = 30_000;
/** How long a client has to read the last message. */
const LAST_WORDS_MS = 1000;
const SWEEP_MS = 60_000;

const NO_TICKET = "This ticket was used before, its time is over, or it never was one: ask for a new one.";
const OTHER_PAGE = "A page of another origin may not open terminals here. MILLRACE_CORS_ORIGINS names those that may.";
const REVOKED = "the API key or session that this terminal was opened with was ended, or its time is over";

interface Open {
  session: Session;
  caller: Caller;
}

export class Terminals implements Ahead, AsyncDisposable {
  readonly #parts: TerminalsParts;
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: LONGEST_FRAME,
    maxBufferedChunks: MOST_PIECES,
    maxFragments: MOST_PIECES,
    perMessageDeflate: false,
    autoPong: false,
    clientTracking: false,
  });
  readonly #open = new Set<Open>();
  readonly #duties: readonly AsyncDisposable[];
  #isClosing = false;

  constructor(parts: TerminalsParts) {
    this.#parts = parts;
    const { clock, failed = failedTo(parts.log) } = parts;
    this.#duties = [
      every(clock, { name: "end terminals of revoked keys", everyMs: LOOK_MS }, () => this.#endRevoked(), failed),
      every(clock, { name: "ping terminals", everyMs: BEAT_MS }, () => this.#beat(), failed),
      every(clock, { name: "expire terminal tickets", everyMs: SWEEP_MS }, () => parts.terminals.sweep(), failed),
    ];
  }

  find(): undefined {
    return undefined;
  }

  mayUpgrade(request: Request): boolean {
    return request.url.startsWith(TERMINAL_PATH) && isWebSocket(request);
  }

  upgrade(request: Request, socket: Duplex, head: Buffer): void {
    // The error is ignored: a close follows, and it says all that matters.
    socket.on("error", () => {});
    floating(this.#enter(request, socket as Socket, head), (error) => {
      // A connection that became a WebSocket was already told, or can no longer be told.
      if (isProblem(error)) endSoon(socket, this.#parts.clock, refusalText(error));
      else {
        this.#failed(error);
        socket.destroy();
      }
    });
  }

  /** Tells every client, and waits a moment for them to close. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    for (const duty of this.#duties) await duty[Symbol.asyncDispose]();
    const open = [...this.#open].map(({ session }) => session);
    for (const session of open) session.end("the server is ending");
    const cut = this.#parts.clock.after(LAST_WORDS_MS, () => {
      for (const session of open) session.cutOff();
    });
    await Promise.all(open.map(({ whenClosed }) => whenClosed));
    cut.cancel();
  }

  async #enter(request: Request, socket: Socket, head: Buffer): Promise<void> {
    const { terminals, doorkeeper } = this.#parts;
    if (!mayConnect(request, this.#parts)) throw problem("not-allowed", OTHER_PAGE);
    const asked = await terminals.redeem(request.url.slice(TERMINAL_PATH.length));
    if (!asked) throw problem("unauthenticated", NO_TICKET);
    doorkeeper.admit(socket, asked.caller.account);
    if (this.#isClosing)
      throw problem("unavailable", "The server is closing; ask for a new ticket.", { reason: "server-ending" });
    const client = await this.#welcomed(request, socket, head);
    // The server is closing, and the open terminals were already told.
    if (this.#isClosing) client?.terminate();
    else if (client) await this.#serve(client, asked);
  }

  /** Undefined if the client does not speak the protocol, and was told so, or if it has gone. */
  #welcomed(request: Request, socket: Socket, head: Buffer): Promise<WebSocket | undefined> {
    return new Promise((resolve) => {
      socket.once("close", () => resolve(undefined));
      socket.setNoDelay(true);
      this.#sockets.handleUpgrade(request, socket, head, (client) => {
        // Frames that came with the request are read once someone listens.
        client.pause();
        resolve(client);
      });
    });
  }

  /** From here on, refusals are sent in the WebSocket, since pages see nothing else. */
  async #serve(client: WebSocket, asked: TerminalAsked & { caller: Caller }): Promise<void> {
    const { clock, terminals } = this.#parts;
    const { caller } = asked;
    const refusal = this.#refusalFor(caller);
    const session = new Session(client, { clock, endingOf: (exit) => this.#endingOf(exit, asked) });
    const open = { session, caller };
    this.#open.add(open);
    try {
      await session.run(refusal ? Promise.reject(refusal) : terminals.open(caller, asked));
    } finally {
      this.#open.delete(open);
    }
  }

  #refusalFor({ account }: Caller): Problem | undefined {
    const open = [...this.#open].filter(({ caller }) => caller.account === account);
    if (open.length < MOST_TERMINALS) return undefined;
    return problem("too-much", `This account has ${open.length} terminals open here, and no more can be: close one.`);
  }

  async #endingOf(exit: Exit, asked: TerminalAsked & { caller: Caller }): Promise<Ending> {
    const { code, signal = null } = exit;
    const known = reasonOf(exit, commandOf(asked.request));
    // If a program was ended from outside, its Pod or worker may be gone. Then that is the reason.
    const reason = code === null ? await this.#whyEnded(asked) : undefined;
    return { type: "exit", code, signal, reason: reason ?? known ?? null };
  }

  /** If the reason cannot be found out, the exit is reported without it. */
  #whyEnded(asked: TerminalAsked & { caller: Caller }): Promise<string | undefined> {
    return this.#parts.terminals.whyEnded(asked.caller, asked).catch((error) => {
      this.#failed(error);
      return undefined;
    });
  }

  /** While keys cannot be checked, no terminal is ended. */
  async #endRevoked(): Promise<void> {
    for (const key of new Set([...this.#open].map(({ caller }) => caller.key)))
      if (!(await this.#parts.terminals.isStanding(key)))
        for (const { session, caller } of this.#open) if (caller.key === key) session.end(REVOKED);
  }

  #beat(): void {
    for (const { session } of this.#open) session.beat();
  }

  #failed(error: unknown): void {
    this.#parts.log.error({ err: error }, "unforeseen fault in a terminal");
  }
}
