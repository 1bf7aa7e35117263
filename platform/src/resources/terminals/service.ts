/** The rules of terminals: who gets a ticket for one, and what program runs in it. */
import type { Caller } from "../../kernel/caller.ts";
import { checkExec, type ExecSpec, type Execution } from "../../ports/compute/execution.ts";
import type { Ticket } from "../account/tickets.ts";
import { asRule, SHELL, type ShellPlace, type Shells } from "../shells.ts";
import { DEFAULT_SIZE, DEFAULT_TERM, type TerminalRequest } from "./model.ts";
import type { TerminalAsked, TerminalTickets } from "./tickets.ts";

export interface TerminalServiceParts {
  shells: Shells;
  terminalTickets: TerminalTickets;
  publicUrl: () => string;
}

/** Each ticket has an address below this path. */
export const TERMINAL_PATH = "/v2/terminals/";

export class TerminalService {
  readonly #parts: TerminalServiceParts;

  constructor(parts: TerminalServiceParts) {
    this.#parts = parts;
  }

  /** Issues a ticket for a terminal in a Pod or worker that runs now. */
  async ticket(caller: Caller, place: ShellPlace, request: TerminalRequest): Promise<Ticket & { url: string }> {
    const { shells, terminalTickets, publicUrl } = this.#parts;
    const { owner } = await shells.find(caller, place);
    asRule(() => checkExec(specOf(request)));
    const ticket = await terminalTickets.issue(caller, owner, { place, request });
    return { ...ticket, url: `${publicUrl().replace(/^http/, "ws")}${TERMINAL_PATH}${ticket.token}` };
  }

  /** What a ticket was issued for. Undefined if the token is unknown, already used or expired. */
  redeem(token: string): Promise<(TerminalAsked & { caller: Caller }) | undefined> {
    return this.#parts.terminalTickets.redeem(token);
  }

  open(caller: Caller, { place, request }: TerminalAsked): Promise<Execution> {
    return this.#parts.shells.open(caller, place, specOf(request));
  }

  /** Why the terminal's Pod or worker ended, if it did. */
  whyEnded(caller: Caller, { place }: TerminalAsked): Promise<string | undefined> {
    return this.#parts.shells.whyEnded(caller, place);
  }

  /** Removes tickets that nobody used in time. */
  sweep(): Promise<void> {
    return this.#parts.terminalTickets.sweep();
  }

  isStanding(key: string): Promise<boolean> {
    return this.#parts.terminalTickets.isStanding(key);
  }
}

export const commandOf = ({ command }: TerminalRequest): readonly string[] => command ?? SHELL;

function specOf(request: TerminalRequest): ExecSpec {
  const { tty = true, cols = DEFAULT_SIZE.cols, rows = DEFAULT_SIZE.rows, term = DEFAULT_TERM } = request;
  const cmd = commandOf(request);
  return tty ? { cmd, env: { TERM: term }, terminal: { columns: cols, rows } } : { cmd };
}
