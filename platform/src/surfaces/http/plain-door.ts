/** Answers plain requests straight from their connections, and hands every connection that brings anything else to Node's HTTP server. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { every } from "../../kernel/background.ts";
import { UNCOUNTED_BYTES } from "../../kernel/body-memory.ts";
import { type Clock, dateText, lately, soon, type Timer } from "../../kernel/clock.ts";
import type { Failed } from "../../kernel/failed.ts";
import { type Manner, PlainRequest, PlainResponse } from "./plain-exchange.ts";
import { type PlainHead, readPlainHead } from "./plain-head.ts";
import type { Answering } from "./reply.ts";
import type { Found } from "./router.ts";

export interface PlainDoorParts {
  /** The route of a request that may be answered here, or undefined to leave it to Node. */
  routeOf(head: PlainHead): Found | undefined;
  /** What comes before the routes for this request. If it is not plain, the request is left to Node. */
  ahead(request: PlainRequest): Answering | undefined | Promise<Answering | undefined>;
  /** Node gets the request, and with it what was found ahead of the routes. */
  leaves(request: PlainRequest, ahead: Answering): void;
  /** How long a connection may bring nothing between two requests. */
  idleMs: number;
  /** How often connections are looked at. */
  checkMs: number;
  clock: Clock;
  failed: Failed;
}

/** Marks an answer that uses no more of a request and its response than `plain-exchange.ts` has. One found ahead of the routes says what it is counted as. */
export function plainly(answer: Answering, countedAs?: string): Answering {
  answer.isPlain = true;
  if (countedAs !== undefined) answer.countedAs = countedAs;
  return answer;
}

const NO_PARAMS = {};

/**
 * A connection that has brought nothing yet is closed after it was looked at this often, and without a word. A client may be about to send
 * its first request, and would take a refusal for the answer to it. Most try again when they find their connection closed.
 */
const NEW_ROUNDS = 2;

/** How long a plain head waits here for its body. Clients that send the two apart, such as Python's `requests`, send them at once. */
const BODY_WAIT_MS = 100;
/** The limits of what waits here: the longest body, the most pieces of one request, and the most bytes of all requests together. */
const LONGEST_AWAITED = UNCOUNTED_BYTES;
const MOST_PIECES = 16;
const MOST_AWAITED_BYTES = 16 * 1024 * 1024;

/**
 * Node reads each request through an HTTP parser and a stream and writes each answer through another, for 18 of the 40 microseconds that
 * a small request takes (measured). A plain request needs neither: its head has come in one piece and can be read in one way only, its
 * body has come with it or a moment later, and nothing else is on its connection. The first one that is not plain takes its connection to
 * Node for good, bytes and all.
 */
export class PlainDoor implements Manner {
  readonly #server: Server;
  readonly #parts: PlainDoorParts;
  readonly #toNode: (socket: Socket) => void;
  readonly #connections = new Set<PlainConnection>();
  /** Requests that came in this turn. All are begun at its end, so that their writes share a flush. */
  #arrived: PlainConnection[] = [];
  readonly kept: string;
  /** How often connections were looked at. A connection notes it, which costs less than reading the time for each request. */
  round = 0;
  #date = "";
  #dateUntil = 0;
  /** The bytes of all requests whose bodies are awaited, as announced. */
  #awaited = 0;

  constructor(server: Server, parts: PlainDoorParts) {
    this.#server = server;
    this.#parts = parts;
    this.kept = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(parts.idleMs / 1000)}\r\n\r\n`;
    const [listener] = server.listeners("connection") as ((socket: Socket) => void)[];
    if (!listener) throw new Error("Node's HTTP server no longer listens to its own connections");
    this.#toNode = listener.bind(server);
    server.off("connection", listener);
    server.prependListener("connection", (socket: Socket) => this.#enter(socket));
    this.#closeWith(server);
  }

  date(): string {
    const { clock } = this.#parts;
    const at = lately(clock);
    if (at >= this.#dateUntil) {
      const now = clock.now();
      this.#date = dateText(now);
      this.#dateUntil = at + 1000 - (now % 1000);
    }
    return this.#date;
  }

  ahead(request: PlainRequest): Answering | undefined | Promise<Answering | undefined> {
    return this.#parts.ahead(request);
  }

  /** Whether the request can be answered here, by what was found ahead of the routes or else by its route. */
  isHere(request: PlainRequest, ahead: Answering | undefined): boolean {
    if (ahead && !ahead.isPlain) this.#parts.leaves(request, ahead);
    else request.route = ahead ? { answer: ahead, params: NO_PARAMS, path: "" } : this.#parts.routeOf(request.head);
    return request.route !== undefined;
  }

  /** Begins the request at the end of this turn. */
  came(connection: PlainConnection): void {
    if (this.#arrived.push(connection) === 1) soon(this.#beginAll);
  }

  begin(request: PlainRequest, response: PlainResponse): void {
    this.#server.emit("request", request, response);
  }

  /** Waits for the rest of a request, or returns undefined if it is too much to wait for. */
  awaits(head: PlainHead, begun: Buffer, late: () => void): ArrivingRequest | undefined {
    const length = head.text.length + head.bodyLength;
    if (head.bodyLength > LONGEST_AWAITED || this.#awaited + length > MOST_AWAITED_BYTES) return undefined;
    this.#awaited += length;
    return new ArrivingRequest(head, begun, this.#parts.clock.after(BODY_WAIT_MS, late));
  }

  awaitsNoMore({ head, timer }: ArrivingRequest): void {
    this.#awaited -= head.text.length + head.bodyLength;
    timer.cancel();
  }

  /** The client sends no more, though its body is not complete. Node says the same of such a request. */
  brokenOff(socket: Socket): void {
    const error = Object.assign(new Error("the body ended too early"), { code: "HPE_INVALID_EOF_STATE" });
    if (!this.#server.emit("clientError", error, socket)) socket.destroy();
  }

  /** Node goes on with the connection from these bytes. */
  handOver(connection: PlainConnection, bytes: Buffer): void {
    const { socket } = connection;
    this.#connections.delete(connection);
    socket.pause();
    if (bytes.length > 0) socket.unshift(bytes);
    this.#toNode(socket);
    socket.resume();
  }

  forget(connection: PlainConnection): void {
    this.#connections.delete(connection);
  }

  #enter(socket: Socket): void {
    this.#connections.add(new PlainConnection(this, socket));
  }

  readonly #beginAll = (): void => {
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const connection of arrived) connection.begin();
  };

  /** Node does not know these connections, so what it does for its own is done here for them. */
  #closeWith(server: Server): void {
    const { idleMs, checkMs, clock, failed } = this.#parts;
    const idleRounds = Math.ceil(idleMs / checkMs) + 1;
    const closeIdle = server.closeIdleConnections;
    const closeAll = server.closeAllConnections;
    server.closeIdleConnections = () => {
      closeIdle.call(server);
      for (const { isBusy, socket } of this.#connections) if (!isBusy) socket.destroy();
    };
    server.closeAllConnections = () => {
      closeAll.call(server);
      for (const { socket } of this.#connections) socket.destroy();
    };
    const check = async () => {
      this.round++;
      for (const connection of this.#connections) {
        const { isBusy, isNew, heardIn, socket } = connection;
        const idle = isBusy ? 0 : this.round - heardIn;
        if (idle > (isNew ? NEW_ROUNDS : idleRounds)) socket.destroy();
      }
    };
    const checking = every(clock, { name: "close connections that bring nothing", everyMs: checkMs }, check, failed);
    server.once("close", () => void checking[Symbol.asyncDispose]());
  }
}

/** A request with a plain head whose body has not come completely. */
class ArrivingRequest {
  readonly head: PlainHead;
  readonly timer: Timer;
  readonly #pieces: Buffer[];
  #missing: number;

  constructor(head: PlainHead, begun: Buffer, timer: Timer) {
    this.head = head;
    this.timer = timer;
    this.#pieces = [begun];
    this.#missing = head.text.length + head.bodyLength - begun.length;
  }

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#missing -= piece.length;
  }

  get isWhole(): boolean {
    return this.#missing === 0;
  }

  get mayWait(): boolean {
    return this.#missing > 0 && this.#pieces.length < MOST_PIECES;
  }

  /** All bytes that have come. */
  get bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

class PlainConnection {
  readonly #door: PlainDoor;
  readonly socket: Socket;
  #lastHead: PlainHead | undefined;
  #arriving: ArrivingRequest | undefined;
  /** The request that has come, until it is begun. */
  #request: PlainRequest | undefined;
  #response: PlainResponse | undefined;
  #isNodes = false;
  isNew = true;
  heardIn: number;

  constructor(door: PlainDoor, socket: Socket) {
    this.#door = door;
    this.socket = socket;
    this.heardIn = door.round;
    socket.on("data", this.#data).on("end", this.#end).on("error", ignored).on("close", this.#closed);
  }

  /** Whether a request is in progress. */
  get isBusy(): boolean {
    return this.#request !== undefined || this.#response !== undefined || this.#arriving !== undefined;
  }

  begin(): void {
    const request = this.#request;
    if (!request) return;
    this.#request = undefined;
    const response = new PlainResponse(request, this.#door);
    this.#response = response;
    response.on("close", this.#answered);
    this.#door.begin(request, response);
  }

  readonly #data = (bytes: Buffer): void => {
    if (this.#arriving) {
      this.#more(this.#arriving, bytes);
      return;
    }
    const head = this.isBusy ? undefined : readPlainHead(bytes, this.#lastHead);
    const missing = head ? head.text.length + head.bodyLength - bytes.length : 0;
    if (head && missing > 0) this.#arriving = this.#door.awaits(head, bytes, this.#late);
    if (this.#arriving) this.isNew = false;
    else if (head && missing === 0) this.#came(head, bytes);
    else this.handOver(bytes);
  };

  #more(arriving: ArrivingRequest, piece: Buffer): void {
    arriving.add(piece);
    if (arriving.mayWait) return;
    const bytes = this.#arrived(arriving);
    if (arriving.isWhole) this.#came(arriving.head, bytes);
    else this.handOver(bytes);
  }

  /** The body takes its time. Node waits for it from here on, and answers before it if that is possible. */
  readonly #late = (): void => {
    if (this.#arriving) this.handOver(this.#arrived(this.#arriving));
  };

  /** Nothing more of the request is awaited. Returns what has come of it. */
  #arrived(arriving: ArrivingRequest): Buffer {
    this.#door.awaitsNoMore(arriving);
    this.#arriving = undefined;
    return arriving.bytes;
  }

  #came(head: PlainHead, bytes: Buffer): void {
    this.#lastHead = head;
    const request = new PlainRequest(this.socket, head, bytes.subarray(head.text.length));
    const ahead = this.#door.ahead(request);
    if (ahead instanceof Promise) this.#lookUp(request, ahead, bytes);
    else if (this.#door.isHere(request, ahead)) this.#take(request, ahead !== undefined);
    else this.handOver(bytes);
  }

  /** Whoever gets a request that is passed on waits for it. All others share the turn with those that come in it. */
  #take(request: PlainRequest, isPassedOn: boolean): void {
    this.isNew = false;
    this.#request = request;
    if (isPassedOn) this.begin();
    else this.#door.came(this);
  }

  /** Nothing more is read until it is known whose the request is. */
  #lookUp(request: PlainRequest, ahead: Promise<Answering | undefined>, bytes: Buffer): void {
    const { socket } = this;
    const decided = (isHere: boolean) => {
      if (socket.destroyed) return;
      if (isHere) {
        this.begin();
        socket.resume();
      } else {
        this.#request = undefined;
        this.handOver(bytes);
      }
    };
    this.isNew = false;
    this.#request = request;
    socket.pause();
    ahead.then(
      (found) => decided(this.#door.isHere(request, found)),
      () => decided(false),
    );
  }

  /** Behind a request in progress, Node's server lets the next one wait until this one is answered. */
  handOver(bytes: Buffer): void {
    this.begin();
    this.#isNodes = true;
    this.socket.off("data", this.#data).off("end", this.#end).off("error", ignored);
    if (!this.#response) this.socket.off("close", this.#closed);
    this.#door.handOver(this, bytes);
  }

  readonly #answered = (): void => {
    this.#response = undefined;
    this.heardIn = this.#door.round;
    if (this.#isNodes) this.socket.off("close", this.#closed);
  };

  /** A client that sends no more gets no more, as Node has it. */
  readonly #end = (): void => {
    if (this.#arriving) {
      this.#arrived(this.#arriving);
      this.#door.brokenOff(this.socket);
    } else this.socket.end();
  };

  readonly #closed = (): void => {
    if (this.#arriving) this.#arrived(this.#arriving);
    this.#door.forget(this);
    this.#request = undefined;
    this.#response?.closed();
  };
}

const ignored = () => {};
