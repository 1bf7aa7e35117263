/** One terminal: a WebSocket on one side, a program on the other, with a limit on how far either may be ahead. */
import type { Readable } from "node:stream";
import type { WebSocket } from "ws";
import { type Clock, soon } from "../../kernel/clock.ts";
import { floating } from "../../kernel/floating.ts";
import { parseJsonText } from "../../kernel/json.ts";
import { isProblem } from "../../kernel/problem.ts";
import { failures } from "../../kernel/validate.ts";
import type { Execution } from "../../ports/compute/execution.ts";
import { TerminalMessage } from "../../resources/terminals/model.ts";
import { Resizes } from "../resizes.ts";
import { Rest } from "../rest.ts";
import { LastOutput } from "./last-output.ts";

/** How a terminal ended, or why none was opened. */
export type Ending =
  | { type: "exit"; code: number | null; signal: string | null; reason: string | null }
  | { type: "error"; message: string };

export interface SessionParts {
  clock: Clock;
  /** Turns an exit into what the client is told. */
  endingOf: (exit: Awaited<Execution["exit"]>) => Promise<Ending>;
}

/** A socket that does not send gets no more than this. The program waits instead. */
const MOST_UNSENT = 262_144;
const FRAMES_AT_ONCE = 256;
/** The longest text frame. */
const LONGEST_MESSAGE = 1024;
/** After this many pings without an answer, the client counts as gone. */
const MOST_UNANSWERED = 2;
const PONG_BYTES = 125;
/** How many text frames are taken. A client that sends more is not read for a while. */
const MESSAGES = { perSecond: 200, atOnce: 400 };

/** WebSocket close codes. */
const DONE = 1000;
const SERVER_ENDS = 1001;
const NOT_UNDERSTOOD = 1008;
const REFUSED = 1011;

export class Session {
  readonly #socket: WebSocket;
  readonly #parts: SessionParts;
  readonly whenClosed: Promise<void>;
  #execution: Execution | undefined;
  #isOver = false;
  /** Input waits for the program. Meanwhile nothing of the client is read, not even its pongs. */
  #isHeld = true;
  #unanswered = 0;
  #frames = 0;
  readonly #resizes: Resizes;
  readonly #rest: Rest;

  /** The socket stays paused until there is a program. */
  constructor(socket: WebSocket, parts: SessionParts) {
    this.#socket = socket;
    this.#parts = parts;
    this.#resizes = new Resizes(parts.clock, (size) => this.#execution?.resize(size));
    this.#rest = new Rest({
      clock: parts.clock,
      speed: MESSAGES,
      pause: () => socket.pause(),
      resume: () => this.#readOn(),
    });
    this.whenClosed = new Promise((resolve) => socket.once("close", () => resolve()));
    // The error is ignored: a close follows, and it says all that matters.
    socket.on("error", () => {});
    socket.on("message", (data, isBinary) => {
      this.#count();
      if (isBinary) this.#write(data as Buffer);
      else this.#hear(data as Buffer);
    });
    socket.on("pong", () => this.#count());
    // Pongs are not automatic: a client that pings and does not read would make them pile up here.
    socket.on("ping", (data) => {
      this.#count();
      if (socket.bufferedAmount < MOST_UNSENT) socket.pong(data.subarray(0, PONG_BYTES), false, () => {});
    });
  }

  /** Resolves when everything is over. */
  async run(opening: Promise<Execution>): Promise<void> {
    const execution = await opening.catch((error: unknown) => {
      this.#end({ type: "error", message: isProblem(error) ? error.detail : "An unexpected error occurred." }, REFUSED);
      if (!isProblem(error)) throw error;
      return undefined;
    });
    if (!execution) return this.whenClosed;
    this.#execution = execution;
    floating(
      this.whenClosed.then(() => execution.close()),
      () => {},
    );
    if (this.#isOver) return execution.close();
    execution.stdin.on("drain", () => this.#hold(false));
    this.#hold(false);
    await this.#passAll(execution);
    const ending = await this.#parts.endingOf(await execution.exit);
    this.#end(ending, DONE);
    await this.whenClosed;
  }

  /** Ends the terminal for a reason other than its program. */
  end(reason: string): void {
    this.#end({ type: "exit", code: null, signal: "SIGHUP", reason }, SERVER_ENDS);
    this.#execution?.close();
  }

  cutOff(): void {
    this.#socket.terminate();
  }

  /** Checks whether the client is still there. */
  beat(): void {
    // Unread output is ahead of a ping, so none is sent then. The doorkeeper closes clients that read nothing at all.
    if (this.#socket.bufferedAmount > 0) return;
    if (!this.#isHeld && !this.#rest.isResting && this.#unanswered++ >= MOST_UNANSWERED) this.cutOff();
    else this.#socket.ping(undefined, false, () => {});
  }

  #end(ending: Ending, code: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#say(ending);
    this.#socket.close(code);
    this.#socket.resume();
  }

  async #passAll({ stdout, stderr, exit }: Execution): Promise<void> {
    const last = new LastOutput(this.#parts.clock);
    const errors = (chunk: Buffer) => JSON.stringify({ type: "stderr", data: chunk.toString("base64") });
    const passed = [this.#pass(stdout, last, (chunk) => chunk), this.#pass(stderr, last, errors)];
    await exit;
    await last.settled(Promise.all(passed));
  }

  async #pass(from: Readable, last: LastOutput, frame: (chunk: Buffer) => Buffer | string): Promise<void> {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        last.came();
        await this.#sent(frame(chunk));
        last.left();
      }
    } catch {
      // A broken stream counts as ended. The exit tells what happened to the program.
    }
  }

  /** Resolves once there is room for more. */
  async #sent(frame: Buffer | string): Promise<void> {
    if (this.#isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.send(frame, { binary: typeof frame !== "string" }, () => resolve());
    if (this.#socket.bufferedAmount > MOST_UNSENT) await promise;
  }

  #say(ending: Ending): void {
    this.#socket.send(JSON.stringify(ending), () => {});
  }

  /** Notes that the client is alive. After many small frames at once, other work gets a turn before more are read. */
  #count(): void {
    this.#unanswered = 0;
    if (++this.#frames !== FRAMES_AT_ONCE) return;
    this.#socket.pause();
    soon(() => {
      this.#frames = 0;
      this.#readOn();
    });
  }

  #write(chunk: Buffer): void {
    const stdin = this.#execution?.stdin;
    // An empty chunk would be kept, but count as nothing.
    if (!stdin?.writable || chunk.length === 0) return;
    if (!stdin.write(chunk)) this.#hold(true);
  }

  #hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.#socket.pause();
    else this.#readOn();
  }

  #readOn(): void {
    if (!this.#isHeld && !this.#rest.isResting) this.#socket.resume();
  }

  #hear(text: Buffer): void {
    if (this.#isOver) return;
    this.#rest.heard();
    const message = messageIn(text);
    if (typeof message === "string") this.#misunderstood(message);
    else if (message.type === "end") this.#execution?.stdin.end();
    else this.#resizes.set({ columns: message.cols, rows: message.rows });
  }

  #misunderstood(message: string): void {
    this.#end({ type: "error", message }, NOT_UNDERSTOOD);
    this.#execution?.close();
  }
}

/** Returns the message in a text frame, or what is wrong with it. */
function messageIn(text: Buffer): TerminalMessage | string {
  if (text.length > LONGEST_MESSAGE) return `A message has at most ${LONGEST_MESSAGE} bytes.`;
  let value: unknown;
  try {
    value = parseJsonText(text.toString());
  } catch {
    return "A text frame must be a message in JSON; what the program is to read goes in binary frames.";
  }
  const wrong = failures(TerminalMessage, value);
  return wrong.length > 0 ? `The message is not understood: ${wrong.join("; ")}.` : (value as TerminalMessage);
}
