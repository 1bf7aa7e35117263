/** The connection of a terminal: asks for a ticket, opens the WebSocket, and begins a new shell when the network broke it. */
import { Refusal } from "../api/refusal.ts";

export interface Size {
  cols: number;
  rows: number;
}

export interface TerminalProps {
  /** Read aloud: where the terminal is. */
  label: string;
  /** Asks the API for a ticket to a new terminal of this size. */
  ask: (size: Size) => Promise<{ ticket: string }>;
}

export type LinkState =
  | { at: "connecting" }
  | { at: "open" }
  /** The network broke it; it tries again by itself. */
  | { at: "waiting"; seconds: number }
  /** The program ended, or the server refuses it. Only a person begins another. */
  | { at: "ended"; text: string; isBad: boolean };

/** What it needs of a WebSocket. */
export interface Socket {
  binaryType: string;
  readonly readyState: number;
  send(data: string | Uint8Array<ArrayBuffer>): void;
  close(code?: number): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
  onclose: ((event: { code: number }) => void) | null;
}

export interface LinkParts {
  /** Asks the API for a ticket. */
  ask: (size: Size) => Promise<{ ticket: string }>;
  connect: (ticket: string) => Socket;
  later: (task: () => void, ms: number) => () => void;
  onState: (state: LinkState) => void;
  onBytes: (bytes: Uint8Array) => void;
}

/** The server takes frames of up to 256 KiB. */
const LARGEST_FRAME = 64 * 1024;
const FIRST_PAUSE_S = 1;
const LONGEST_PAUSE_S = 30;
const OPEN = 1;
/** How the server closes: in order, because it or the session ends, because it did not understand, because it refuses. */
const [ENDED, GOING, MISUNDERSTOOD, REFUSED] = [1000, 1001, 1008, 1011];

export class TerminalLink {
  readonly #parts: LinkParts;
  #size: Size;
  #socket: Socket | undefined;
  #pause = FIRST_PAUSE_S;
  #stopWaiting: (() => void) | undefined;
  /** Counts the attempts, so that an answer to one that was given up is not taken. */
  #attempt = 0;

  constructor(parts: LinkParts, size: Size) {
    this.#parts = parts;
    this.#size = size;
  }

  async open(): Promise<void> {
    this.#leave();
    const attempt = ++this.#attempt;
    this.#parts.onState({ at: "connecting" });
    try {
      const { ticket } = await this.#parts.ask(this.#size);
      if (attempt === this.#attempt) this.#use(this.#parts.connect(ticket), attempt);
    } catch (error) {
      if (attempt === this.#attempt) this.#refused(error);
    }
  }

  send(text: string): void {
    if (this.#socket?.readyState !== OPEN) return;
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += LARGEST_FRAME) {
      this.#socket.send(bytes.subarray(at, at + LARGEST_FRAME));
    }
  }

  /** Bytes as they are, such as reports of the mouse. */
  sendBinary(text: string): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(Uint8Array.from(text, (char) => char.charCodeAt(0)));
  }

  resize(size: Size): void {
    this.#size = size;
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify({ type: "resize", ...size }));
  }

  /** Ends the shell, and tries no more. */
  close(): void {
    this.#attempt++;
    this.#leave();
  }

  #leave(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(ENDED);
  }

  #use(socket: Socket, attempt: number): void {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    let said: LinkState | undefined;
    const asked = this.#size;
    socket.onopen = () => {
      this.#pause = FIRST_PAUSE_S;
      this.#parts.onState({ at: "open" });
      if (this.#size !== asked) this.resize(this.#size);
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") said = endOf(data) ?? said;
      else this.#parts.onBytes(new Uint8Array(data as ArrayBuffer));
    };
    socket.onclose = ({ code }) => {
      if (attempt !== this.#attempt) return;
      this.#socket = undefined;
      const end = said ?? closedWith(code);
      if (end) this.#parts.onState(end);
      else this.#wait();
    };
  }

  #refused(error: unknown): void {
    const isPassing = error instanceof Refusal && (error.status === 0 || error.status >= 500);
    if (isPassing) {
      this.#wait();
      return;
    }
    const { message, remedy } = error instanceof Refusal ? error : { message: String(error), remedy: undefined };
    this.#parts.onState({ at: "ended", text: remedy ? `${message} ${remedy}` : message, isBad: true });
  }

  #wait(): void {
    const seconds = this.#pause;
    this.#pause = Math.min(seconds * 2, LONGEST_PAUSE_S);
    this.#parts.onState({ at: "waiting", seconds });
    this.#stopWaiting = this.#parts.later(() => void this.open(), seconds * 1000);
  }
}

/** What a message of the server says about the end of the program; undefined where it says nothing about it. */
export function endOf(message: string): LinkState | undefined {
  const said = JSON.parse(message) as Record<string, unknown>;
  if (said.type === "error") return { at: "ended", text: String(said.message), isBad: true };
  if (said.type !== "exit") return undefined;
  const { code, signal, reason } = said as { code: number | null; signal: string | null; reason: string | null };
  const how = signal ? `The program was ended by ${signal}.` : `The program ended with exit code ${code ?? "unknown"}.`;
  return { at: "ended", text: reason ? `${how} ${reason}` : how, isBad: code !== 0 };
}

/** Undefined where the network broke it. */
function closedWith(code: number): LinkState | undefined {
  if (code === ENDED) return { at: "ended", text: "The program ended.", isBad: false };
  if (code === GOING) return { at: "ended", text: "The server or your session ended the terminal.", isBad: true };
  if (code === MISUNDERSTOOD || code === REFUSED)
    return { at: "ended", text: "The server refused the terminal.", isBad: true };
  return undefined;
}
